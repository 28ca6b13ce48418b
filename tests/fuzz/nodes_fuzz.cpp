// SPDX-License-Identifier: Apache-2.0
//
// Nodes: whatever an agent says to rank 0, or rank 0 and the children to an agent, the other side goes
// on, or gives that node or child up; of a child nothing is heard after its end, and none is left.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <memory>
#include <sinew/error.hpp>
#include <sinew/task/encoding.hpp>
#include <span>
#include <utility>
#include <vector>

#include "src/nodes/node_agent.hpp"
#include "src/nodes/remote_node.hpp"
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

/// A frame from what comes next: heads that make sense more often than not.
std::vector<std::byte> frame_of(Script& script, MessageKind word) {
    auto const how = script.next();
    if (how % 32 == 0) {
        auto const bytes = script.some();
        return {bytes.begin(), bytes.end()};
    }
    auto const child = script.next() % 6;
    Head const head{child, script.number()};
    auto const first = bytes_of(head);
    std::vector<std::byte> frame(first.begin(), first.end());
    auto rest = script.some();
    std::vector<std::byte> whole;
    if (word == MessageKind::start && how % 4 != 0) {
        process::ChildSpec spec;
        spec.message.assign(rest.begin(), rest.end());
        whole = encode_start(spec);
        rest = whole;
    } else if (word == MessageKind::ended && how % 4 != 0) {
        whole = encode_end({.code = static_cast<int>(how), .log = std::string(rest.size(), 'x')});
        rest = whole;
    }
    frame.insert(frame.end(), rest.begin(), rest.end());
    return frame;
}

MessageKind word_of(Script& script, MessageKind first, MessageKind last) {
    auto const from = static_cast<unsigned>(first), to = static_cast<unsigned>(last);
    auto const byte = script.next();
    if (byte >= 250)
        return static_cast<MessageKind>(process::kinds::supervisor + script.next() % 20);
    return static_cast<MessageKind>(from + byte % (to - from + 1));
}

/// Rank 0's side.
struct NodeGame {
    explicit NodeGame(Script script_) : script(script_) {
        auto link = make_link(sent);
        arriving = link->callbacks();
        node = std::make_shared<RemoteNode>(std::move(link), "wild-host");
        node->begin();
    }
    NodeGame(NodeGame const&) = delete;
    ~NodeGame() {
        children = {};
        node->over();
    }

    void step() {
        auto const what = script.next();
        auto const which = what / 8 % children.size();
        if (what % 8 == 0) return start(which);
        if (what % 8 == 1) return use(which);
        auto const word = word_of(script, MessageKind::started, MessageKind::renew);
        auto const frame = frame_of(script, word);
        auto const now = *arriving;  // frames also come behind the one that ended it
        if (what == 255) return now.end({wire::LinkEnd::Cause::lost, {}, "x"});
        now.message({static_cast<std::uint8_t>(word), 0, frame});
    }

    void start(std::size_t which) {
        if (node->lost()) {
            try {
                (void)node->start({});
                expect(false);
            } catch (Unavailable const&) {}
            return;
        }
        children[which] = node->start({.role = "wild", .name = "wild"});
        auto over = std::make_shared<bool>(false);
        auto const heard = [over](wire::Message const& message) {
            expect(!*over);
            (void)std::vector<std::byte>(message.payload.begin(), message.payload.end());
        };
        children[which]->on({.control = heard,
                             .bulk = heard,
                             .liveness = [over](wire::Liveness) { expect(!*over); },
                             .ended =
                                 [over](process::ChildEnd const& end) {
                                     expect(!std::exchange(*over, true));
                                     (void)end.log.size();
                                 }});
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

    Script script;
    unsigned sent = 0;
    std::shared_ptr<RemoteNode> node;
    std::shared_ptr<wire::Link::Callbacks> arriving;
    std::array<std::unique_ptr<process::Child>, 4> children;
};

/// The agent's.
struct AgentGame {
    explicit AgentGame(Script script_) : script(script_) {
        auto link = make_link(sent);
        arriving = link->callbacks();
        agent = std::make_shared<Agent>(
            process::Runtime::instance(), std::move(link),
            Agent::Setup{.rank = 1, .session = wire::Secret::random(), .cpus = {}});
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
        auto const word = word_of(script, MessageKind::start, MessageKind::granted);
        auto const frame = frame_of(script, word);
        auto const now = *arriving;
        if (what == 255) now.drained();
        now.message({static_cast<std::uint8_t>(word), 0, frame});
    }

    void child(unsigned what) {
        auto& all = FakeChild::living();
        if (all.empty()) return;
        auto const speaker = std::next(all.begin(), static_cast<long>(what / 8 % all.size()));
        auto const said = *speaker->second;  // it may go within
        if (!said.control) return;
        auto const kind = static_cast<std::uint8_t>(script.next());
        auto const bytes = script.some();
        std::string const log(reinterpret_cast<char const*>(bytes.data()), bytes.size());
        if (what % 8 == 0) return said.ended({.code = kind, .log = log});
        if (what % 8 == 1) return said.liveness(wire::Liveness::suspect);
        if (what % 8 == 2) {
            auto const now = *arriving;
            return now.drained();
        }
        if (what % 8 < 5) return said.control({kind, 0, bytes});
        said.bulk({kind, 0, bytes});
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
