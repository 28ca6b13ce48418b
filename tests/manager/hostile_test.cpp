// SPDX-License-Identifier: Apache-2.0
// Who knocks without a key, or has one and talks nonsense: the manager goes on serving others.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <sinew/manager.hpp>
#include <thread>

#include "src/manager/desk.hpp"
#include "src/process/auth_key.hpp"
#include "src/wire/frame.hpp"
#include "src/wire/hello.hpp"
#include "src/wire/sockets.hpp"
#include "tests/manager/support/counter.hpp"
#include "tests/support/leak_check.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using manager::CallHead;
using manager::Op;
using process::LetterHead;
using process::MailService;

/// With one who behaves, and shall not notice anything.
class Hostile : public testing::TestWithParam<char const*> {
protected:
    Hostile() : manager({.listen = GetParam()}), counter(manager.create<Counter>()) {
        counter.publish("counter");
    }
    ~Hostile() override {
        EXPECT_EQ(counter.async<&Counter::add>(1).get(30s), 1);
        EXPECT_EQ(Manager::connect(manager.address(), manager.authkey())
                      .lookup<Counter>("counter")
                      .async<&Counter::add>(1)
                      .get(30s),
                  2);
    }
    UniqueFd knock() const {
        auto const place = wire::Address::parse(manager.address());
        bool const local = place.family == wire::Address::Family::unix_socket;
        auto const where = local ? wire::unix_address(place.host) : *wire::numeric_address(place);
        UniqueFd socket(::socket(where.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
        EXPECT_EQ(::connect(socket.get(), where.get(), where.length), 0);
        return socket;
    }

    LeakCheck leaks;
    Manager manager;
    Object<Counter> counter;
};

void send_some(UniqueFd const& socket, std::string const& bytes) {
    (void)!::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Until the other end closes: whether it did, and how much it said before.
bool is_closed(UniqueFd const& socket, std::size_t& said) {
    char buffer[4096];
    for (;;) {
        pollfd waiting{socket.get(), POLLIN, 0};
        if (::poll(&waiting, 1, 30'000) != 1) return false;
        auto const count = ::recv(socket.get(), buffer, sizeof buffer, 0);
        if (count <= 0) return true;
        said += static_cast<std::size_t>(count);
    }
}

TEST_P(Hostile, GarbageIsShownTheDoor) {
    std::minstd_rand random(7);
    std::string noise(100'000, '\0');
    for (auto& letter : noise) letter = static_cast<char>(random());
    for (std::string const& garbage :
         {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), noise, std::string(100'000, '\xff'),
          std::string(8, '\0'), std::string("\xff\xff\xff\x7f\xf0\x00\x00\x00 a long frame", 21)}) {
        auto const stranger = knock();
        send_some(stranger, garbage);
        std::size_t said = 0;
        EXPECT_TRUE(is_closed(stranger, said)) << garbage.substr(0, 16);
        EXPECT_LT(said, 200u);  // an alert at most
    }
}

TEST_P(Hostile, TheSilentKeepNobodyOut) {
    std::vector<UniqueFd> silent;
    for (int i = 0; i < 100; ++i) silent.push_back(knock());
    auto const guest = Manager::connect(manager.address(), manager.authkey(), {.timeout = 30s});
    EXPECT_EQ(guest.pid(), 0);
}

/// Let in, and says what nobody says.
struct Talker {
    explicit Talker(Manager const& manager)
        : mail(manager::Desk::instance().mail()), lock(mail.guard()),
          peer(mail.runtime().host(manager.address(), process::secret_of(manager.authkey()), 10s)) {
    }
    void say(LetterHead head, std::span<std::byte const> bytes = {}) {
        std::vector<std::byte> frame;
        head.size = bytes.size();
        auto const first = process::bytes_of(head);
        frame.insert(frame.end(), first.begin(), first.end());
        frame.insert(frame.end(), bytes.begin(), bytes.end());
        peer->send(process::mail_frame::letters, {frame});
    }
    void hello() {
        say(manager::head(Op::hello, 0, 0), manager::bytes_of(detail::program_identity().text));
    }
    // All of it has arrived and been answered when another answer has come.
    void finish() {
        peer->flush();
        lock.unlock();
    }
    process::Mail& mail;
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
                    // Its object is the other's: held by that, and not to be detached or named here.
                    if (id == 1 && op == static_cast<std::uint16_t>(Op::publish)) continue;
                    talker.say({MailService::manager, op, 7, id, id * 3},
                               std::span(bytes).first(size));
                }
        }
    }
    for (std::uint16_t service = 0; service < 9; ++service)
        talker.say({static_cast<MailService>(service), 3, 1, 1, 1}, bytes);
    for (auto kind = process::kinds::queue; kind <= process::kinds::queue_last; ++kind)
        talker.peer->send(kind, {std::span(bytes).first(kind)});
    talker.finish();
}

// What a family says to each other is not for guests.
TEST_P(Hostile, MessagesOfAFamilyEndTheConnection) {
    for (auto const kind : {process::kinds::supervisor, process::kinds::child,
                            process::kinds::manager, std::uint8_t{239}}) {
        Talker talker(manager);
        talker.hello();
        talker.peer->send(kind, {process::bytes_of(kind)});
        auto const peer = talker.peer;
        talker.finish();
        EXPECT_TRUE(eventually([&] {
            process::Lock const lock(talker.mail.guard());
            return peer->lost();
        })) << +kind;
    }
}

// The arguments may be nonsense; a method of another type is not called, whoever asks for it.
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
        talker.say(manager::head(Op::call, 1, 1), process::bytes_of(head));  // no arguments
    }
    // Nor of an object that is not there yet.
    auto create = manager::head(Op::create, 0, 2);
    create.epoch = manager::gives_object;
    auto const maker = detail::id_of(detail::Construction<Counter>::entry()).value;
    talker.say(create, process::bytes_of(CallHead{maker, 1}));
    CallHead const follow{detail::id_of(Foreign::entry()).value, 2};
    talker.say(manager::head(Op::follow, 0, 3), process::bytes_of(follow));
    talker.finish();
}

TEST_P(Hostile, APieceThatNeverComesHoldsNobody) {
    Talker talker(manager);
    talker.hello();
    for (std::uint64_t transfer = 1; transfer < 50; ++transfer) {
        auto head = manager::head(Op::call, 1, transfer);
        head.size = ~std::uint64_t{0} >> (transfer % 40);
        talker.peer->send(process::mail_frame::begin,
                          {process::bytes_of(transfer), process::bytes_of(head)});
        talker.peer->send(process::mail_frame::piece,
                          {process::bytes_of(transfer), process::bytes_of(head)});
    }
    talker.finish();
}

// On a Unix socket everything can be written by hand.
TEST_P(Hostile, FramesBeyondAllMeasureEndTheConnection) {
    if (wire::Address::parse(manager.address()).family != wire::Address::Family::unix_socket)
        GTEST_SKIP() << "TLS is in the way";
    auto const stranger = knock();
    wire::Hello const hello{.mark = wire::Hello::mark_of(process::secret_of(manager.authkey())),
                            .self = {},
                            .max_frame = 1 << 20};
    auto const words = hello.encode();
    auto const head =
        wire::encode({static_cast<std::uint32_t>(words.size()), wire::frame_kind::hello, 0, 0});
    send_some(stranger, {reinterpret_cast<char const*>(head.data()), head.size()});
    send_some(stranger, words);
    char answer = 0;
    EXPECT_EQ(::recv(stranger.get(), &answer, 1, 0), 1);  // it is let in
    auto const endless = wire::encode({0xffffffff, process::mail_frame::letters, 0, 0});
    send_some(stranger, {reinterpret_cast<char const*>(endless.data()), endless.size()});
    std::size_t said = 0;
    EXPECT_TRUE(is_closed(stranger, said));
}

INSTANTIATE_TEST_SUITE_P(By, Hostile, testing::Values("127.0.0.1:0", "unix:/"),
                         [](auto const& each) {
                             return std::string(each.param)[0] == 'u' ? "Unix" : "Tcp";
                         });

}  // namespace
}  // namespace sinew::testing_support
