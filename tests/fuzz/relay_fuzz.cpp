// SPDX-License-Identifier: Apache-2.0
//
// A pool over a communicator: whatever a rank says to rank 0, or rank 0 and the workers to a rank,
// the other side goes on or gives up that rank or worker; and of what a worker says nothing arrives
// after its end.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <future>
#include <map>
#include <optional>
#include <sinew/error.hpp>
#include <span>
#include <vector>

#include "src/pool/remote/remote_node.hpp"
#include "src/pool/remote/remote_port.hpp"
#include "src/pool/remote/supervisor.hpp"
#include "tests/fuzz/fake_child.hpp"
#include "tests/fuzz/fake_runtime.hpp"
#include "tests/fuzz/script.hpp"

namespace {

using namespace sinew;
using namespace sinew::pool;
using fuzz::FakeChild;
using fuzz::FakeRuntime;
using fuzz::make_link;
using fuzz::Script;
using Bytes = std::span<std::byte const>;
using Lock = std::unique_lock<std::mutex>;

void expect(bool holds) {
    if (!holds) std::abort();
}

FakeRuntime& runtime() { return FakeRuntime::instance(); }

template <class... Parts>
std::vector<std::byte> joined(Parts const&... parts) {
    std::vector<std::byte> all;
    (all.insert(all.end(), parts.begin(), parts.end()), ...);
    return all;
}

/// One that the side takes; seldom another one, which ends the link.
Relay kind_of(Script& script, Relay first, Relay last) {
    auto const from = static_cast<unsigned>(first), to = static_cast<unsigned>(last);
    auto const byte = script.next();
    if (byte >= 250) return static_cast<Relay>(process::kinds::supervisor + script.next() % 20);
    return static_cast<Relay>(from + byte % (to - from + 1));
}

/// A frame of the relay's from what comes next: heads that make sense more often than not.
std::vector<std::byte> frame_of(Script& script, Relay kind) {
    std::uint64_t const worker = script.next() % 6;
    std::uint64_t const number = script.number();
    auto const how = script.next();
    auto const head = joined(head_bytes(worker), head_bytes(number));
    if (how % 32 == 0) {
        auto const bytes = script.some();
        return {bytes.begin(), bytes.end()};
    }
    if (kind == Relay::said_piece || kind == Relay::piece) {
        auto const bytes = script.some();
        PieceHead const piece{how % 3, how % 4 == 0 ? number : bytes.size() * (1 + how / 32 % 2)};
        return joined(head_bytes(worker), head_bytes(piece), bytes);
    }
    if (kind == Relay::said && how % 2 == 0) {
        MessageHead const said{worker, static_cast<std::uint64_t>(Kind::results)};
        ResultsHead results{};
        results.batch = number;
        results.transfer = how / 8 % 3;
        return joined(head_bytes(said), head_bytes(results), script.some());
    }
    if (kind == Relay::start && how % 4 != 0) {
        Writer start;
        WorkerStart().encode_to(start);
        return joined(head, start.bytes());
    }
    return joined(head, script.some());
}

/// Rank 0's side.
struct NodeGame {
    explicit NodeGame(Script script_) : script(script_) {
        auto link = make_link(sent);
        arriving = link->callbacks();
        node = std::make_shared<RemoteNode>(runtime().loop, std::move(link), "wild-host");
        node->begin();
    }
    NodeGame(NodeGame const&) = delete;
    ~NodeGame() {
        ports = {};
        node->over();
    }

    void step() {
        auto const what = script.next();
        auto const which = what / 8 % ports.size();
        if (what % 8 == 0) return start(which);
        if (what % 8 == 1) return use(which);
        if (what % 8 == 2) return other(what / 8);
        auto const kind =
            static_cast<Relay>(static_cast<unsigned>(Relay::start) + script.next() % 16);
        auto const frame = frame_of(script, kind);
        auto const now = *arriving;  // frames also come behind the one that ended it
        now.message({static_cast<std::uint8_t>(kind), 0, frame});
    }

    void start(std::size_t which) {
        ports[which] = node->start(1, {});
        auto over = std::make_shared<bool>(false);
        ports[which]->on({.message =
                              [over](Kind kind, Bytes body) {
                                  expect(!*over);
                                  ResultsHead head{};
                                  if (kind != Kind::results || body.size() < sizeof head) return;
                                  std::memcpy(&head, body.data(), sizeof head);
                              },
                          .liveness = [over](bool) { expect(!*over); },
                          .ended =
                              [over](WorkerEnd const& end) {
                                  expect(!std::exchange(*over, true));
                                  (void)end.process.log.size();
                              }});
    }

    void use(std::size_t which) {
        auto& port = ports[which];
        auto const what = script.next();
        if (!port) return;
        if (what % 4 == 0) return port.reset();
        if (what % 4 == 1) return port->kill();
        auto const bytes = script.some();
        if (what % 4 == 2) return port->send(Kind::tasks, {bytes, bytes, bytes});
        auto const keep = std::make_shared<std::vector<std::byte>>(std::size_t{what} << 12);
        port->transfer(what, *keep, keep);
    }

    void other(unsigned what) {
        if (node->lost()) return;
        auto const now = *arriving;
        if (what % 4 == 0) now.liveness(wire::Liveness::suspect);
        if (what % 4 == 1) now.liveness(wire::Liveness::alive);
        if (what % 4 == 2) now.drained();
        if (what % 32 == 3) now.end({.cause = wire::LinkEnd::Cause::lost, .peer = {}, .text = "x"});
    }

    Script script;
    unsigned sent = 0;
    std::shared_ptr<RemoteNode> node;
    std::shared_ptr<wire::Link::Callbacks> arriving;
    std::array<std::unique_ptr<WorkerHandle>, 4> ports;
};

/// Another rank's side.
struct SupervisorGame {
    explicit SupervisorGame(Script script_) : script(script_) {
        auto link = make_link(sent);
        arriving = link->callbacks();
        supervisor = std::make_shared<Supervisor>(
            process::Runtime::instance(), std::move(link),
            Supervisor::Setup{.rank = 1, .session = wire::Secret::random(), .cpus = {}});
        supervisor->begin();
    }
    SupervisorGame(SupervisorGame const&) = delete;
    ~SupervisorGame() {
        supervisor->leave();
        expect(FakeChild::living().empty());
    }

    void step() {
        auto const what = script.next();
        if (what % 4 == 0) return child(what / 4);
        auto const kind = kind_of(script, Relay::start, Relay::granted);
        auto const frame = frame_of(script, kind);
        auto const now = *arriving;
        if (what == 255) now.drained();
        now.message({static_cast<std::uint8_t>(kind), 0, frame});
    }

    void child(unsigned what) {
        auto& all = FakeChild::living();
        if (all.empty()) return;
        auto const speaker = std::next(all.begin(), static_cast<long>(what / 8 % all.size()));
        auto const said = *speaker->second;  // it may go within
        if (!said.control) return;
        auto const kind = static_cast<std::uint8_t>(script.next());
        auto const bytes = script.some();
        switch (what % 8) {
            case 0:
                return said.bulk_drained();
            case 1:
                return said.liveness(kind % 2 == 0 ? wire::Liveness::suspect
                                                   : wire::Liveness::alive);
            case 2: {
                std::string const log(reinterpret_cast<char const*>(bytes.data()), bytes.size());
                return said.ended({.code = kind, .signal = 0, .out_of_memory = false, .log = log});
            }
            case 3:
                return std::function(arriving->drained)();
            case 4:
                return said.control({kind, 0, bytes});
            default:
                return said.bulk({kind, 0, bytes});
        }
    }

    Script script;
    unsigned sent = 0;
    std::shared_ptr<Supervisor> supervisor;
    std::shared_ptr<wire::Link::Callbacks> arriving;
};

template <class Game>
void play(Script script) {
    {
        Lock const lock(runtime().guard);
        for (Game game(script); !game.script.left.empty();) game.step();
    }
    // What it left to the loop.
    std::promise<void> done;
    runtime().loop.post([&] { done.set_value(); });
    done.get_future().wait();
}

}  // namespace

/// First byte: which side.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    Script script{std::as_bytes(std::span(data, size))};
    script.next() % 2 == 0 ? play<NodeGame>(script) : play<SupervisorGame>(script);
    return 0;
}
