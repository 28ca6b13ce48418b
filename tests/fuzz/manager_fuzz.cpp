// SPDX-License-Identifier: Apache-2.0
//
// A process of the session or a guest may misbehave: whatever messages it sends to a manager, and
// however it answers calls of its objects, this process keeps working. When the peers are gone and
// the manager has ended, no object is left and every call has ended.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <sinew/manager/object.hpp>
#include <sinew/task/encoding.hpp>
#include <span>
#include <thread>
#include <vector>

#include "src/manager/client/connection.hpp"
#include "src/manager/server/server.hpp"
#include "tests/fuzz/fake_runtime.hpp"
#include "tests/fuzz/script.hpp"

namespace {

using namespace sinew;
using namespace sinew::manager;
using fuzz::FakePeer;
using fuzz::Script;
using process::MessageHeader;
using process::ProcessAddress;
using Bytes = std::span<std::byte const>;

void expect(bool holds) {
    if (!holds) std::abort();
}

std::atomic<int> alive{0};

/// An object that the peers make, call and misuse.
class Thing {
public:
    Thing() { ++alive; }
    explicit Thing(std::vector<std::string> words) : words_(std::move(words)) { ++alive; }
    Thing(Thing const&) = delete;
    ~Thing() {
        --alive;
        magic_ = 0;
    }
    std::string add(std::string const& word, int times) {
        expect(magic_ == whole);  // the object has the right type
        if (times < 0) throw std::out_of_range("less than nothing");
        words_.push_back(word);
        if (words_.size() > 64) words_.clear();
        return word;
    }
    std::size_t size() const {
        expect(magic_ == whole);
        return words_.size();
    }

private:
    static constexpr std::uint64_t whole = 0x5eedfeed;
    std::uint64_t magic_ = whole;
    std::vector<std::string> words_;
};
struct Other {
    int value() const { return number_; }
    int number_ = 7;
};

using Make = detail::Construction<Thing>;
using MakeOf = detail::Construction<Thing, std::vector<std::string>>;
using MakeOther = detail::Construction<Other>;
using Add = detail::Call<detail::Method<Thing, &Thing::add>, std::string, int>;
using Size = detail::Call<detail::Method<Thing, &Thing::size>>;
using Value = detail::Call<detail::Method<Other, &Other::value>>;

std::array<detail::TaskEntry const*, 6> entries() {
    return {&Make::entry(), &MakeOf::entry(), &MakeOther::entry(),
            &Add::entry(),  &Size::entry(),   &Value::entry()};
}

struct Game {
    explicit Game(Bytes input)
        : script{input}, messenger(process::Messenger::instance()),
          server(messenger, [](process::Message const&) {}), worker([this] { server.work(); }) {
        process::Lock const lock(messenger.guard());
        for (std::size_t i = 0; i < peers.size(); ++i) peers[i] = make_peer(i);
        for (std::size_t i = 0; i < connections.size(); ++i)
            connections[i] = std::make_shared<Connection>(
                messenger, ProcessAddress{1 + i, "wild", "elsewhere", {}}, peers[i], nullptr,
                100'000);
    }
    Game(Game const&) = delete;

    // The first peer is of the session; it is also refused methods of other types.
    static std::shared_ptr<FakePeer> make_peer(std::size_t place) {
        return std::make_shared<FakePeer>(
            [](std::uint8_t, auto const&) {},
            place == 0 ? process::PeerTrust::same_session : process::PeerTrust::inbound_client);
    }

    void step() {
        auto const what = script.next();
        process::Lock lock(messenger.guard());
        if (what % 16 == 0) return lose(what / 16 % peers.size());
        if (what % 16 == 1) return greet(what / 16 % peers.size());
        if (what % 16 < 5) return call(lock, what / 16 % peers.size());
        if (what % 16 < 8) return answer(what / 16 % peers.size());
        message(what / 16 % peers.size());
    }

    void bring(std::size_t from, MessageHeader head, Bytes bytes) {
        head.size = bytes.size();
        messenger.on_loop([&] { server.message(peers[from], {head, bytes, nullptr}); });
    }

    void greet(std::size_t from) {
        auto const& text = detail::program_identity().text;
        bring(from, manager::head(Op::hello, 0, 0), bytes_of(text));
    }

    void message(std::size_t from) {
        auto const byte = script.next();
        auto const op = static_cast<std::uint16_t>(byte < 240 ? byte % 40 : byte);
        MessageHeader const head{process::ServiceId::manager, op, script.next(), script.next() % 8,
                                 script.number()};
        auto const how = script.next();
        if (op == static_cast<std::uint16_t>(Op::hello) && how % 4 != 0) return greet(from);
        auto const raw = script.some();
        if (how % 8 == 0) return bring(from, head, raw);
        std::vector<std::byte> bytes;
        CallHead call{0, how % 4 == 0 ? script.number() : ++rows[from][head.id % 8]};
        auto const all = entries();
        call.method = detail::id_of(*all[how / 8 % all.size()]).value;
        if (how > 250) call.method += how;
        auto const first = bytes_of(call);
        bytes.insert(bytes.end(), first.begin(), first.end());
        Writer sound;
        if (how % 3 == 0) {
            encode(sound, std::string(raw.size(), 'w'));
            encode(sound, static_cast<int>(raw.size()));
            auto const whole = sound.bytes();
            bytes.insert(bytes.end(), whole.begin(), whole.end());
        } else {
            bytes.insert(bytes.end(), raw.begin(), raw.end());
        }
        bring(from, head, bytes);
    }

    // Calls an object of a peer from here.
    void call(process::Lock& lock, std::size_t whom) {
        Writer writer;
        CallHead const head{};
        writer.write(&head, sizeof head);
        encode(writer, std::string("x"));
        encode(writer, 1);
        auto const how = script.next();
        if (how % 8 == 7) connections[whom]->cancel(how % 4, script.number());
        calls.push_back(connections[whom]->call(lock, how % 4 == 0 ? Op::oneway : Op::call, how % 3,
                                                &Add::entry(), writer, row));
        if (how % 4 == 0) calls.pop_back();  // its reply is dropped
    }

    void answer(std::size_t from) {
        auto const byte = script.next();
        MessageHeader head{process::ServiceId::manager, static_cast<std::uint16_t>(32 + byte % 9),
                           0, script.next(), 0};
        // Numbered as calls are: the slot's index, and how many calls the slot had before.
        head.number = byte > 240 ? script.number()
                                 : std::uint64_t{1 + script.next() % 3} << 32 | script.next() % 8;
        auto const bytes = script.some();
        head.size = bytes.size();
        connections[from]->message({head, bytes, nullptr});
    }

    void lose(std::size_t which) {
        peers[which]->lose();
        messenger.on_loop([&] { server.lost(peers[which]); });
        connections[which]->lost("the fuzzer says so");
        rows[which] = {};
        peers[which] = make_peer(which);
        connections[which] = std::make_shared<Connection>(
            messenger, ProcessAddress{1 + which, "wild", "elsewhere", {}}, peers[which], nullptr,
            100'000);
    }

    void end() {
        {
            process::Lock const lock(messenger.guard());
            for (std::size_t i = 0; i < peers.size(); ++i) {
                peers[i]->lose();
                connections[i]->lost("the fuzzer says so");
                messenger.on_loop([&] { server.lost(peers[i]); });
            }
            server.stop();
        }
        worker.join();
        expect(alive == 0);
        for (auto const& each : calls) {
            expect(each->ready());
            try {
                (void)each->result().left();
            } catch (std::exception const&) {}
        }
    }

    Script script;
    process::Messenger& messenger;
    Server server;
    std::thread worker;
    std::array<std::shared_ptr<FakePeer>, 3> peers;
    std::array<std::shared_ptr<Connection>, 3> connections;
    std::array<std::array<std::uint64_t, 8>, 3> rows{};
    std::vector<std::shared_ptr<PendingReply>> calls;
    std::uint64_t row = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    Game game(std::as_bytes(std::span(data, size)));
    while (!game.script.left.empty()) game.step();
    game.end();
    return 0;
}
