// SPDX-License-Identifier: Apache-2.0
//
// Simulates thousands of small jobs: a tree of agents, fences of all and of some of them, messages
// in any order except on their link, and, in two thirds of the jobs, agents that die, links that
// break and are made elsewhere, or epochs that end early.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <random>
#include <string>

#include "launchers/tree/fence_codec.hpp"
#include "launchers/tree/tree.hpp"

namespace sinew::launch {
namespace {

enum class Trouble { none, restart, losses };

/// Nodes, each with the number of its last move: reports of moves may overtake each other on
/// different paths to the root.
using Moves = std::map<int, int>;

struct Message {
    enum class Kind { fence, attach, detach, restart } kind;
    Bytes bytes;
    Moves nodes;
};

struct Planned {  ///< one node's part in one fence
    FenceKey key;
    int node;
    bool entered = false;
    int outcomes = 0;
    std::optional<FenceParts> result;
};

struct Agent {
    explicit Agent(int node) : fences(node) {}
    FenceNode fences;
    std::optional<int> parent;   ///< to which a link is up
    std::map<int, Moves> below;  ///< by child
    std::uint32_t epoch = 1;
    bool alive = true;
};

class ChaosWorld {
public:
    explicit ChaosWorld(std::uint64_t seed) : random_(seed), tree_(1 + below(4)) {
        trouble_ = static_cast<Trouble>(seed % 3);
        int const count = 1 + below(24);
        all_ = NodeSet::range(0, count - 1);
        agents_.emplace(root_node, Agent(root_node));
        agents_.at(root_node).fences.restart(1, all_);
        for (int node = 0; node < count; ++node) {
            agents_.emplace(node, Agent(node));
            agents_.at(node).fences.restart(1, all_);
        }
        for (int node = 0; node < count; ++node) attach(node);
        plan(1);
        troubles_ = trouble_ == Trouble::none ? 0 : trouble_ == Trouble::restart ? 1 : 1 + below(4);
    }

    void run() {
        while (step()) {}
        if (::testing::Test::HasFailure()) return;
        check();
    }

private:
    int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }

    // ---- events --------------------------------------------------------------------------------

    // Executes one of the possible events; returns false if there is none.
    bool step() {
        std::vector<std::pair<int, int>> ready;
        for (auto const& [link, messages] : links_)
            if (!messages.empty()) ready.push_back(link);
        std::vector<Planned*> enter;
        for (auto& each : planned_)
            if (!each.entered && agents_.at(each.node).alive &&
                agents_.at(each.node).epoch == each.key.epoch)
                enter.push_back(&each);
        std::size_t const choices = ready.size() + enter.size() + orphans_.size() + deaths_.size();
        if (troubles_ > 0 && (choices == 0 || below(25) == 0) && tree_is_settled()) {
            --troubles_;
            make_trouble();
            return true;
        }
        if (choices == 0) return false;
        auto choice = static_cast<std::size_t>(below(static_cast<int>(choices)));
        if (choice < ready.size()) return deliver(ready[choice]), true;
        if ((choice -= ready.size()) < enter.size()) return go_in(*enter[choice]), true;
        if ((choice -= enter.size()) < orphans_.size()) return come_back(choice), true;
        choice -= orphans_.size();
        int const dead = deaths_[choice];
        deaths_.erase(deaths_.begin() + static_cast<std::ptrdiff_t>(choice));
        perform(root_node, agents_.at(root_node).fences.fail(NodeSet({dead}), "it died"));
        return true;
    }

    void go_in(Planned& part) {
        part.entered = true;
        perform(part.node, agents_.at(part.node).fences.local(part.key, blob(part)));
    }

    static Bytes blob(Planned const& part) {
        if (part.node % 3 == 2) return {};  // some nodes contribute nothing
        std::string const words =
            std::to_string(part.node) + "/" + std::to_string(part.key.sequence);
        auto const bytes = std::as_bytes(std::span(words));
        return Bytes(bytes.begin(), bytes.end());
    }

    // The next loss waits until all know of the moves after the previous one: when agents move,
    // they report the nodes below them, which must be right. Fences do not wait.
    bool tree_is_settled() const {
        if (!orphans_.empty()) return false;
        for (auto const& [link, messages] : links_)
            for (auto const& message : messages)
                if (message.kind == Message::Kind::attach || message.kind == Message::Kind::detach)
                    return false;
        return true;
    }

    void make_trouble() {
        if (trouble_ == Trouble::restart) return begin_epoch();
        std::vector<int> there;
        for (auto const& [node, agent] : agents_)
            if (node != root_node && agent.alive && agent.parent) there.push_back(node);
        if (there.empty()) return;
        int const node = there[static_cast<std::size_t>(below(static_cast<int>(there.size())))];
        cut(node);
        if (below(2) == 0) return orphans_.push_back(node);  // the node itself is alive
        for (auto const& [child, agent] : agents_)
            if (agent.parent == node) {
                cut(child);
                orphans_.push_back(child);
            }
        std::erase(orphans_, node);
        agents_.at(node).alive = false;
        tree_.remove(node);
        deaths_.push_back(node);
    }

    void begin_epoch() {
        plan(2);
        restart(root_node);
    }

    // ---- the tree -------------------------------------------------------------------------------

    void attach(int node) {
        auto& agent = agents_.at(node);
        agent.parent = tree_.place(node);
        links_[{node, *agent.parent}].clear();
        links_[{*agent.parent, node}].clear();
        Moves all{{node, ++moves_}};
        for (auto const& [child, nodes] : agent.below)
            for (auto const& [each, move] : nodes) all[each] = moves_;
        for (auto& [child, nodes] : agent.below)
            for (auto& [each, move] : nodes) move = moves_;
        send(node, *agent.parent, {Message::Kind::attach, {}, all});
        perform(node, agent.fences.parent_found());
    }

    void come_back(std::size_t which) {
        int const node = orphans_[which];
        orphans_.erase(orphans_.begin() + static_cast<std::ptrdiff_t>(which));
        attach(node);
    }

    // Both ends detect it at once; messages in transit are lost.
    void cut(int node) {
        auto& agent = agents_.at(node);
        int const parent = *agent.parent;
        agent.parent.reset();
        links_.erase({node, parent});
        links_.erase({parent, node});
        agent.fences.parent_gone("its link broke");
        auto& above = agents_.at(parent);
        Moves const gone = above.below[node];
        above.below.erase(node);
        perform(parent, above.fences.child_gone(node));
        if (above.parent) send(parent, *above.parent, {Message::Kind::detach, {}, gone});
    }

    void send(int from, int to, Message message) {
        links_.at({from, to}).push_back(std::move(message));
    }

    void deliver(std::pair<int, int> link) {
        auto& messages = links_.at(link);
        Message const message = std::move(messages.front());
        messages.pop_front();
        auto const [from, to] = link;
        auto& agent = agents_.at(to);
        bool const upwards = agents_.at(from).parent == to;
        switch (message.kind) {
            case Message::Kind::restart:
                return restart(to);
            case Message::Kind::attach:
                return more_below(to, from, message.nodes);
            case Message::Kind::detach:
                return less_below(to, from, message.nodes);
            case Message::Kind::fence:
                break;
        }
        if (upwards) perform(to, agent.fences.from_child(from, decode_up(message.bytes).value()));
        else perform(to, agent.fences.from_parent(decode_down(message.bytes).value()));
    }

    void tell_below(int node, int child) {
        auto& agent = agents_.at(node);
        std::vector<int> nodes;
        for (auto const& [each, move] : agent.below[child]) nodes.push_back(each);
        perform(node, agent.fences.below(child, std::move(nodes)));
    }

    void more_below(int node, int child, Moves const& more) {
        auto& agent = agents_.at(node);
        Moves news;
        for (auto const& [each, move] : more) {
            bool known = false;
            for (auto& [other, nodes] : agent.below) {
                auto const found = nodes.find(each);
                if (found == nodes.end()) continue;
                known = found->second > move;
                if (!known) nodes.erase(found);
            }
            if (!known) news.emplace(each, move);
        }
        agent.below[child].insert(news.begin(), news.end());
        tell_below(node, child);
        if (agent.parent) send(node, *agent.parent, {Message::Kind::attach, {}, news});
    }

    void less_below(int node, int child, Moves const& less) {
        auto& agent = agents_.at(node);
        Moves gone;
        for (auto const& [each, move] : less) {
            auto const found = agent.below[child].find(each);
            if (found == agent.below[child].end() || found->second != move) continue;
            agent.below[child].erase(found);
            gone.emplace(each, move);
        }
        if (gone.empty()) return;
        tell_below(node, child);
        if (agent.parent) send(node, *agent.parent, {Message::Kind::detach, {}, gone});
    }

    void restart(int node) {
        auto& agent = agents_.at(node);
        agent.epoch = 2;
        agent.fences.restart(2, all_);
        for (auto const& [child, other] : agents_)
            if (other.parent == node) send(node, child, {Message::Kind::restart, {}, {}});
    }

    void perform(int node, FenceNode::Actions const& actions) {
        auto const& agent = agents_.at(node);
        for (auto const& action : actions) {
            if (auto const* up = std::get_if<FenceNode::Up>(&action)) {
                ASSERT_TRUE(agent.parent) << "up from node " << node << ", which has no parent";
                send(node, *agent.parent, {Message::Kind::fence, encode_up(*up), {}});
            } else if (auto const* down = std::get_if<FenceNode::Down>(&action)) {
                for (int const child : down->children)
                    send(node, child, {Message::Kind::fence, encode_down(*down), {}});
            } else if (auto const* done = std::get_if<FenceNode::Done>(&action)) {
                outcome(node, done->key, done->parts);
            } else {
                outcome(node, std::get<FenceNode::Failed>(action).key, std::nullopt);
            }
        }
    }

    void outcome(int node, FenceKey const& key, std::optional<FenceParts> result) {
        for (auto& part : planned_)
            if (part.node == node && part.key == key) {
                ASSERT_TRUE(part.entered) << "node " << node;
                ++part.outcomes;
                part.result = std::move(result);
                return;
            }
        FAIL() << "node " << node << " hears of a fence that it takes no part in";
    }

    // ---- expected results ----------------------------------------------------------------------

    void plan(std::uint32_t epoch) {
        int const fences = 1 + below(6);
        for (int sequence = 0; sequence < fences; ++sequence) {
            FenceKey key{.epoch = epoch, .nodes = {}, .group = random_() % 2};
            key.sequence = static_cast<std::uint64_t>(sequence);
            if (below(2) == 0)
                for (int const node : all_.nodes())
                    if (below(3) == 0) key.nodes.push_back(node);
            auto const who = key.nodes.empty() ? all_.nodes() : key.nodes;
            for (int const node : who) planned_.push_back({key, node, false, 0, std::nullopt});
        }
    }

    void check() const {
        for (auto const& part : planned_) {
            auto const& agent = agents_.at(part.node);
            if (!agent.alive) {
                EXPECT_LE(part.outcomes, 1);
                continue;
            }
            bool const over = part.key.epoch < agent.epoch;
            EXPECT_LE(part.outcomes, 1) << "node " << part.node;
            if (part.result) expect_whole(part);
            if (over) continue;
            EXPECT_EQ(part.outcomes, 1)
                << "node " << part.node << " waits in fence " << part.key.sequence;
            EXPECT_TRUE(part.result || trouble_ == Trouble::losses);
        }
        for (auto const& [node, agent] : agents_) {
            if (!agent.alive) continue;
            EXPECT_EQ(agent.fences.pending(), 0u) << "at node " << node;
            EXPECT_TRUE(agent.fences.ignored() == 0 || trouble_ != Trouble::none);
        }
    }

    void expect_whole(Planned const& part) const {
        std::vector<FencePart> whole;
        for (auto const& other : planned_)
            if (other.key == part.key)
                if (auto bytes = blob(other); !bytes.empty())
                    whole.push_back({other.node, std::move(bytes)});
        EXPECT_TRUE(
            std::equal(whole.begin(), whole.end(), part.result->begin(), part.result->end()))
            << "node " << part.node;
    }

    std::mt19937_64 random_;
    TreeBuilder tree_;
    Trouble trouble_{};
    int troubles_ = 0;
    int moves_ = 0;
    NodeSet all_;
    std::map<int, Agent> agents_;
    std::map<std::pair<int, int>, std::deque<Message>> links_;  ///< from, to
    std::vector<int> orphans_;                                  ///< not connected again yet
    std::vector<int> deaths_;                                   ///< unknown to the root
    std::vector<Planned> planned_;
};

TEST(FenceChaos, GivesEveryParticipantTheSameOrAFailureOnce) {
#ifdef SINEW_TEST_ASAN
    constexpr std::uint64_t worlds = 1500;  // each takes ten times as long
#else
    constexpr std::uint64_t worlds = 6000;
#endif
    for (std::uint64_t seed = 0; seed < worlds; ++seed) {
        ChaosWorld(seed).run();
        ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
}

}  // namespace
}  // namespace sinew::launch
