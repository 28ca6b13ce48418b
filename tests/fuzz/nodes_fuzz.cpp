// SPDX-License-Identifier: Apache-2.0
//
// Nodes: whatever an agent says to rank 0, or rank 0 and the children to an agent, the other side goes
// on, or gives that node or child up; of a child nothing is heard after its end, and none is left. Some
// of the children are workers of a pool.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <sinew/error.hpp>
#include <sinew/task/encoding.hpp>
#include <span>
#include <utility>
#include <vector>

#include "src/nodes/node_agent.hpp"
#include "src/nodes/remote_node.hpp"
#include "src/pool/placement/child_worker.hpp"
#include "src/process/child/remote_host.hpp"
#include "tests/fuzz/fake_child.hpp"
#include "tests/fuzz/fake_runtime.hpp"
#include "tests/fuzz/script.hpp"

namespace {

using namespace sinew;
using namespace sinew::nodes;
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

/// A body that makes sense more often than not.
std::vector<std::byte> body_of(Script& script, MessageKind kind, unsigned how) {
    auto const rest = script.some();
    if (how % 4 == 0) return joined(rest);
    if (kind == MessageKind::start) {
        process::ChildSpec spec;
        spec.message.assign(rest.begin(), rest.end());
        return encode_start(spec);
    }
    if (kind == MessageKind::ended)
        return encode_ending(
            {.end = {.code = static_cast<int>(how), .log = std::string(rest.size(), 'x')},
             .running = script.number(),
             .verdict = how % 8});
    if (kind == MessageKind::from_bulk) {  // a piece of a worker's results
        pool::PieceHead const piece{
            how % 3, how % 8 == 1 ? script.number() : rest.size() * (1 + how / 32 % 2)};
        return joined(bytes_of(piece), rest);
    }
    if (kind == MessageKind::from_control) {
        pool::ResultsHead results{};
        results.batch = script.number();
        results.transfer = how / 8 % 3;
        return joined(bytes_of(results), rest);
    }
    return joined(rest);
}

/// A frame from what comes next.
std::vector<std::byte> frame_of(Script& script, MessageKind kind) {
    auto const how = script.next();
    if (how % 32 == 0) return joined(script.some());
    bool const results = kind == MessageKind::from_control && how % 2 == 1;
    auto const child = script.next() % 6;
    Head const head{child,
                    results ? static_cast<std::uint64_t>(pool::Kind::results) : script.number()};
    return joined(bytes_of(head), body_of(script, kind, how));
}

MessageKind kind_of(Script& script, MessageKind first, MessageKind last) {
    auto const from = static_cast<unsigned>(first), to = static_cast<unsigned>(last);
    auto const byte = script.next();
    if (byte >= 250)
        return static_cast<MessageKind>(process::kinds::supervisor + script.next() % 20);
    return static_cast<MessageKind>(from + byte % (to - from + 1));
}

/// The node as the place of a Node value.
class WildHost final : public process::RemoteHost {
public:
    explicit WildHost(std::shared_ptr<RemoteNode> node) : node_(std::move(node)) {}
    std::unique_ptr<process::Child> start(process::ChildSpec const& spec) override {
        return node_->start(spec);
    }
    bool lost() const override { return node_->lost(); }
    std::string const& name() const override { return node_->host(); }

private:
    std::shared_ptr<RemoteNode> node_;
};

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
        children = {};
        workers = {};
        node->over();
    }

    void step() {
        auto const what = script.next();
        auto const which = what / 8 % children.size();
        if (what % 8 == 0) return start(which);
        if (what % 8 == 1) return use(which);
        if (what % 8 == 2) return start_worker(which);
        if (what % 8 == 3) return use_worker(which);
        if (what % 8 == 4) return link_says(what / 8);
        auto const kind = kind_of(script, MessageKind::started, MessageKind::leaving);
        auto const frame = frame_of(script, kind);
        auto const now = *arriving;  // frames also come behind the one that ended it
        now.message({static_cast<std::uint8_t>(kind), 0, frame});
    }

    void start(std::size_t which) try {
        children[which] = node->start({.role = "wild", .name = "wild"});
        expect(!node->lost());
        auto over = std::make_shared<bool>(false);
        auto const heard = [over](wire::Message const& message) {
            expect(!*over);
            (void)joined(message.payload);
        };
        children[which]->on({.control = heard,
                             .bulk = heard,
                             .bulk_drained = [over] { expect(!*over); },
                             .liveness = [over](wire::Liveness) { expect(!*over); },
                             .ended =
                                 [over](process::ChildEnd const& end) {
                                     expect(!std::exchange(*over, true));
                                     (void)end.log.size();
                                 }});
    } catch (Unavailable const&) {
        expect(node->lost());
    }

    void use(std::size_t which) {
        auto& child = children[which];
        auto const what = script.next();
        if (!child) return;
        if (what % 4 == 0) return child.reset();
        if (what % 4 == 1) return child->signal(9);
        auto const bytes = script.some();
        if (what % 4 == 2) child->control().send(1, 0, {bytes, bytes});
        else child->bulk().send_now(1, 0, {});
    }

    void start_worker(std::size_t which) try {
        auto const place = process::NodeAccess::make(std::make_shared<WildHost>(node));
        workers[which] = pool::start_worker(place, {}, 1, {});
        expect(!node->lost());
        auto over = std::make_shared<bool>(false);
        workers[which]->on({.message =
                                [over](pool::Kind kind, Bytes body) {
                                    expect(!*over);
                                    pool::ResultsHead head{};
                                    if (kind != pool::Kind::results || body.size() < sizeof head)
                                        return;
                                    std::memcpy(&head, body.data(), sizeof head);
                                },
                            .liveness = [over](bool) { expect(!*over); },
                            .ended =
                                [over](pool::WorkerEnd const& end) {
                                    expect(!std::exchange(*over, true));
                                    (void)end.process.log.size();
                                }});
    } catch (Unavailable const&) {
        expect(node->lost());
    }

    void use_worker(std::size_t which) {
        auto& worker = workers[which];
        auto const what = script.next();
        if (!worker) return;
        (void)worker->name();
        if (what % 4 == 0) return worker.reset();
        if (what % 4 == 1) return worker->kill();
        auto const bytes = script.some();
        if (what % 4 == 2) return worker->send(pool::Kind::tasks, {bytes, bytes, bytes});
        auto const keep = std::make_shared<std::vector<std::byte>>(std::size_t{what} << 12);
        worker->transfer(what, *keep, keep);
    }

    void link_says(unsigned what) {
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
    std::array<std::unique_ptr<process::Child>, 4> children;
    std::array<std::unique_ptr<pool::WorkerHandle>, 4> workers;
};

/// The agent's.
struct AgentGame {
    explicit AgentGame(Script script_) : script(script_) {
        auto link = make_link(sent);
        arriving = link->callbacks();
        agent = std::make_shared<Agent>(
            process::Runtime::instance(), std::move(link),
            Agent::Setup{.name = "rank 1", .session = wire::Secret::random(), .cpus = {}});
        agent->begin();
    }
    AgentGame(AgentGame const&) = delete;
    ~AgentGame() {
        agent->leave();
        expect(FakeChild::living().empty());
    }

    void step() {
        auto const what = script.next();
        if (what % 4 == 0) return child(what / 4);
        auto const kind = kind_of(script, MessageKind::start, MessageKind::granted);
        auto const frame = frame_of(script, kind);
        auto const now = *arriving;
        if (what == 255) now.drained();
        now.message({static_cast<std::uint8_t>(kind), 0, frame});
    }

    void child(unsigned what) {
        auto& all = FakeChild::living();
        if (all.empty()) return;
        auto const speaker = std::next(all.begin(), static_cast<long>(what / 8 % all.size()));
        auto const said = *speaker->second;  // it may be destroyed meanwhile
        if (!said.control) return;
        auto const kind = static_cast<std::uint8_t>(script.next());
        auto const bytes = script.some();
        std::string const log(reinterpret_cast<char const*>(bytes.data()), bytes.size());
        switch (what % 8) {
            case 0:
                return said.ended({.code = kind, .log = log});
            case 1:
                return said.liveness(kind % 2 == 0 ? wire::Liveness::suspect
                                                   : wire::Liveness::alive);
            case 2:
                return std::function(arriving->drained)();
            case 3:
                return said.bulk_drained();
            case 4:
                return said.control({kind, 0, bytes});
            default:
                return said.bulk({kind, 0, bytes});
        }
    }

    Script script;
    unsigned sent = 0;
    std::shared_ptr<Agent> agent;
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
    script.next() % 2 == 0 ? play<NodeGame>(script) : play<AgentGame>(script);
    return 0;
}
