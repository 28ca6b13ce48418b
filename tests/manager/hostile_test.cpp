// SPDX-License-Identifier: Apache-2.0
// Clients without a key, or with a key and invalid messages: the manager keeps serving others.
#include <gmock/gmock.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <sinew/manager.hpp>
#include <sinew/task/encoding.hpp>
#include <thread>

#include "src/manager/object_registry.hpp"
#include "src/process/auth_key.hpp"
#include "tests/manager/support/hostile.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using manager::CallHead;
using manager::Op;
using process::MessageHeader;
using process::ServiceId;

TEST_P(Hostile, GarbageIsShownTheDoor) {
    std::minstd_rand random(7);
    std::string noise(100'000, '\0');
    for (auto& message : noise) message = static_cast<char>(random());
    for (std::string const& garbage :
         {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), noise, std::string(100'000, '\xff'),
          std::string(8, '\0'), std::string("\xff\xff\xff\x7f\xf0\x00\x00\x00 a long frame", 21)}) {
        auto const stranger = knock();
        send_some(stranger, garbage);
        std::size_t said = 0;
        EXPECT_TRUE(is_closed(stranger, said)) << garbage.substr(0, 16);
        EXPECT_LT(said, 200u);  // a TLS alert at most
    }
}

TEST_P(Hostile, TheSilentKeepNobodyOut) {
    std::vector<UniqueFd> silent;
    for (int i = 0; i < 100; ++i) silent.push_back(knock());
    auto const guest = Manager::connect(manager.address(), manager.authkey(), {.timeout = 30s});
    EXPECT_EQ(guest.pid(), 0);
}

/// A connected client that sends messages no real client sends.
struct Talker {
    explicit Talker(Manager const& manager)
        : messenger(manager::ObjectRegistry::instance().messenger()), lock(messenger.guard()),
          peer(messenger.runtime().host(manager.address(), process::secret_of(manager.authkey()),
                                        10s)) {}
    void say(MessageHeader head, std::span<std::byte const> bytes = {}) {
        std::vector<std::byte> frame;
        head.size = bytes.size();
        auto const first = bytes_of(head);
        frame.insert(frame.end(), first.begin(), first.end());
        frame.insert(frame.end(), bytes.begin(), bytes.end());
        peer->send(process::frame_kind::messages, {frame});
    }
    void hello() { say(manager::head(Op::hello, 0, 0), bytes_of(detail::program_identity().text)); }
    // Waits for the reply of a later request: all earlier messages have then been handled.
    void finish() {
        peer->flush();
        lock.unlock();
    }
    bool is_disconnected() {
        return eventually([&] {
            process::Lock const held(messenger.guard());
            return peer->lost();
        });
    }
    process::Messenger& messenger;
    process::Lock lock;
    std::shared_ptr<process::Peer> peer;
};

TEST_P(Hostile, LettersThatMakeNoSenseDoNothing) {
    Talker talker(manager);
    std::vector<std::byte> const bytes(200, std::byte{0xa5});
    for (bool const greeted : {false, true}) {
        if (greeted) talker.hello();
        for (std::uint16_t op = 0; op < 48; ++op) {
            if (op == static_cast<std::uint16_t>(Op::hello)) continue;
            for (std::uint64_t const id : {0ull, 1ull, 77ull, ~0ull})
                for (std::size_t const size : {0ul, 1ul, 15ul, 16ul, 17ul, 200ul}) {
                    // Object 1 belongs to the other client: it must not be detached or published
                    // here.
                    if (id == 1 && op == static_cast<std::uint16_t>(Op::publish)) continue;
                    talker.say({ServiceId::manager, op, 7, id, id * 3},
                               std::span(bytes).first(size));
                }
        }
    }
    for (std::uint16_t service = 0; service < 9; ++service)
        talker.say({static_cast<ServiceId>(service), 3, 1, 1, 1}, bytes);
    for (auto kind = process::kinds::queue; kind <= process::kinds::queue_last; ++kind)
        talker.peer->send(kind, {std::span(bytes).first(kind)});
    talker.finish();
    EXPECT_TRUE(talker.is_disconnected());
}

// Guests must not send the messages of session members.
TEST_P(Hostile, MessagesOfAFamilyEndTheConnection) {
    for (auto const kind : {process::kinds::supervisor, process::kinds::child,
                            process::kinds::manager, std::uint8_t{239}}) {
        Talker talker(manager);
        talker.hello();
        talker.peer->send(kind, {bytes_of(kind)});
        talker.finish();
        EXPECT_TRUE(talker.is_disconnected()) << +kind;
    }
}

// Invalid arguments are an error of the call. A method of another type is not called, for any
// client.
TEST_P(Hostile, MethodsOfOtherTypesAreRefused) {
    struct Other {
        int value() const { std::abort(); }
    };
    using Foreign = detail::Call<detail::Method<Other, &Other::value>>;
    using Known = detail::Call<detail::Method<Counter, &Counter::add>, int>;
    Talker talker(manager);
    talker.hello();
    std::uint64_t sequence = 0;
    for (auto const* const entry : {&Foreign::entry(), &Known::entry()}) {
        CallHead const head{detail::id_of(*entry).value, ++sequence};
        talker.say(manager::head(Op::call, 1, 1), bytes_of(head));  // no arguments
    }
    // The same for an object that has not arrived yet.
    auto create = manager::head(Op::create, 0, 2);
    create.epoch = manager::gives_object;
    auto const constructor = detail::id_of(detail::Construction<Counter>::entry()).value;
    talker.say(create, bytes_of(CallHead{constructor, 1}));
    CallHead const follow{detail::id_of(Foreign::entry()).value, 2};
    talker.say(manager::head(Op::follow, 0, 3), bytes_of(follow));
    talker.finish();
}

TEST_P(Hostile, APieceThatNeverComesHoldsNobody) {
    Talker talker(manager);
    talker.hello();
    for (std::uint64_t transfer = 1; transfer < 50; ++transfer) {
        auto head = manager::head(Op::call, 1, transfer);
        head.size = guest_memory >> (transfer % 20);
        talker.peer->send(process::frame_kind::begin, {bytes_of(transfer), bytes_of(head)});
        talker.peer->send(process::frame_kind::piece, {bytes_of(transfer), bytes_of(head)});
    }
    talker.finish();
}

/// Two types, and an object that receives a handle of one of them.
class HostileNumber {
public:
    int get() const { return number_; }
    void set(int number) { number_ = number; }

private:
    int number_ = 4711;
};
class HostileText {
public:
    std::string get() const { return text_; }

private:
    std::string text_ = "a text that is no number, and too long to lie in place";
};
class HostileKeeper {
public:
    int use(Object<HostileNumber> const& number) { return number.call<&HostileNumber::get>(); }
    void change(Object<HostileNumber> const& number) { number.call<&HostileNumber::set>(1); }
    Object<HostileNumber> pass(Object<HostileNumber> const& number) { return number; }
};

// A handle of an object with the name of another type, in a process without another handle of it.
template <class As, class Is>
Object<As> forged(std::unique_ptr<Object<Is>> object) {
    Writer writer;
    object->encode_to(writer);
    object.reset();
    std::string bytes(reinterpret_cast<char const*>(writer.bytes().data()), writer.size());
    Writer is, as;
    encode(is, std::string(typeid(Is).name()));
    encode(as, std::string(typeid(As).name()));
    auto const text = [](Writer const& name) {
        return std::string(reinterpret_cast<char const*>(name.bytes().data()), name.size());
    };
    auto const at = bytes.find(text(is));
    if (at == std::string::npos) throw std::logic_error("there is no such handle");
    bytes.replace(at, is.size(), text(as));
    Reader reader(std::as_bytes(std::span(bytes)));
    return Object<As>::decode_from(reader);
}

TEST_P(Hostile, ForgedHandlesCallNothing) {
    auto const number = manager.create<HostileNumber>();
    auto text = std::make_unique<Object<HostileText>>(manager.create<HostileText>());
    text->publish("text");
    auto const keeper = manager.create<HostileKeeper>();
    EXPECT_EQ(keeper.call<&HostileKeeper::use>(number), 4711);
    EXPECT_EQ(keeper.async<&HostileKeeper::pass>(number).async<&HostileNumber::get>().get(30s),
              4711);
    auto const lie = forged<HostileNumber>(std::move(text));
    EXPECT_THROW(lie.call<&HostileNumber::get>(), UsageError);
    EXPECT_THROW(keeper.call<&HostileKeeper::use>(lie), UsageError);
    EXPECT_THROW(keeper.call<&HostileKeeper::change>(lie), UsageError);
    EXPECT_THROW(keeper.async<&HostileKeeper::pass>(lie).async<&HostileNumber::get>().get(30s),
                 UsageError);
    EXPECT_EQ(manager.lookup<HostileText>("text").call<&HostileText::get>(), HostileText().get());
}

INSTANTIATE_TEST_SUITE_P(By, Hostile, testing::Values("127.0.0.1:0", "unix:/"), name_of_door);

}  // namespace
}  // namespace sinew::testing_support
