// SPDX-License-Identifier: Apache-2.0
//
// Runs the real TreeBuilder and FenceNodes of 1,000, 10,000 and 100,000 agents over a simulated
// network and checks that joins and fences take a bounded number of messages per agent and
// logarithmic time. Prints the table of docs/design.md. Under sanitizers there are fewer agents.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>
#include <random>

#include "launchers/tree/fence.hpp"
#include "launchers/tree/tree.hpp"
#include "tests/launchers/tree/simulated_network.hpp"

namespace sinew::launch {
namespace {

constexpr int fanout = 32;
constexpr int window = 64;  ///< connections that have not proved yet that they know the secret

/// Heap memory in use; unknown with a sanitizer's allocator.
double heap_mib() {
    auto const heap = ::mallinfo2();
    return static_cast<double>(heap.uordblks + heap.hblkhd) / 1048576;
}

/// How the nodes above an agent learn that it is below them: from its parent, whose reports are
/// passed on to the root, or from the root, once all have joined.
enum class News { passed_on, from_the_root };

struct Measured {
    News news{};
    int agents = 0, depth = 0;
    double join_ms = 0, fence_ms = 0, kib_per_agent = 0, mib = 0;
    int root_links = 0, most_transient = 0;
    double join_mean = 0, fence_mean = 0;
    std::uint32_t join_most = 0, fence_most = 0;
};

class SimulatedJob {
public:
    SimulatedJob(int agents, std::size_t blob_bytes, News news)
        : agents_(agents), news_(news), blob_(blob_bytes, std::byte{7}), memory_before_(heap_mib()),
          network_(agents + 1, {}), tree_(fanout) {
        fences_.reserve(static_cast<std::size_t>(agents) + 1);
        for (int node = root_node; node < agents; ++node) {
            fences_.emplace_back(node);
            fences_.back().restart(1, NodeSet::range(0, agents - 1));
        }
    }

    Measured run() {
        join();
        network_.run();
        count_join();
        fence();
        network_.run();
        count_fence();
        return measured_;
    }

private:
    static int process(int node) { return node + 1; }
    FenceNode& fences(int node) { return fences_[static_cast<std::size_t>(process(node))]; }
    void send(int from, int to, SimulatedNetwork::Task task) {
        network_.send(process(from), process(to), std::move(task));
    }

    // ---- join -----------------------------------------------------------------------------------

    // All agents are started at once, in any order, and dial the root, which limits their number.
    void join() {
        dialling_.resize(static_cast<std::size_t>(agents_));
        std::iota(dialling_.begin(), dialling_.end(), 0);
        std::shuffle(dialling_.begin(), dialling_.end(), std::mt19937(1));
        for (int i = 0; i < window; ++i) accept();
    }

    void accept() {
        if (dialling_.empty()) return;
        int const node = dialling_.back();
        dialling_.pop_back();
        ++transient_;
        measured_.most_transient = std::max(measured_.most_transient, transient_);
        hand_shake(node, root_node, [this, node] { place(node); });
    }

    // As TLS 1.3: one message each, then the caller's first message: the hello, or attach.
    void hand_shake(int from, int to, SimulatedNetwork::Task then) {
        send(from, to, [this, from, to, then = std::move(then)]() mutable {
            send(to, from, [this, from, to, then = std::move(then)]() mutable {
                send(from, to, std::move(then));
            });
        });
    }

    // The root answers the hello; the link stays if the root is the parent. Otherwise it is closed,
    // here or when the agent has reported that it is attached.
    void place(int node) {
        int const parent = tree_.place(node);
        bool const stays = parent == root_node;
        if (stays) ++measured_.root_links;
        if (stays || news_ == News::passed_on) hang_up();
        send(root_node, node, [=, this] {
            if (stays) send(node, root_node, [=, this] { attached(root_node, node, node); });
            else hand_shake(node, parent, [=, this] { attached(parent, node, node); });
        });
    }

    void hang_up() {
        --transient_;
        accept();
    }

    void attached(int at, int child, int node) {
        if (at != root_node && news_ == News::from_the_root) {
            EXPECT_TRUE(fences(at).below(child, NodeSet::range(child, child)).empty());
            return send(node, root_node, [this] {
                hang_up();
                one_more();
            });
        }
        EXPECT_TRUE(fences(at).more_below(child, NodeSet::range(node, node)).empty());
        if (at == root_node) return one_more();
        int const parent = *tree_.parent(at);
        send(at, parent, [=, this] { attached(parent, at, node); });
    }

    void one_more() {
        if (++there_ < agents_) return;
        if (news_ == News::from_the_root) launch(root_node);
        measured_.join_ms = static_cast<double>(network_.now()) / 1000;
    }

    // Sends the job, and the tree below each node, down the tree.
    void launch(int node) {
        measured_.join_ms = static_cast<double>(network_.now()) / 1000;
        for (int const child : tree_.children(node)) {
            EXPECT_TRUE(fences(node).below(child, tree_.subtree(child)).empty());
            send(node, child, [=, this] { launch(child); });
        }
    }

    void count_join() {
        EXPECT_EQ(there_, agents_);
        measured_.agents = agents_;
        measured_.news = news_;
        for (int node = 0; node < agents_; ++node) {
            measured_.depth = std::max(measured_.depth, tree_.depth(node));
            auto const all = network_.traffic(process(node)).all();
            measured_.join_most = std::max(measured_.join_most, all);
            measured_.join_mean += static_cast<double>(all) / agents_;
        }
        network_.clear_traffic();
    }

    // ---- one fence of all -----------------------------------------------------------------------

    void fence() {
        began_ = network_.now();
        for (int node = 0; node < agents_; ++node)
            network_.post(process(node), [this, node] {
                perform(node, fences(node).local({.epoch = 1, .nodes = {}}, blob_));
            });
    }

    void perform(int node, FenceNode::Actions actions) {
        for (auto& action : actions) {
            if (auto* up = std::get_if<FenceNode::Up>(&action)) {
                int const parent = *tree_.parent(node);
                auto const message = std::make_shared<FenceNode::Up>(std::move(*up));
                send(node, parent, [=, this] {
                    perform(parent, fences(parent).from_child(node, std::move(*message)));
                });
            } else if (auto* down = std::get_if<FenceNode::Down>(&action)) {
                auto const children = std::exchange(down->children, {});
                auto const message = std::make_shared<FenceNode::Down>(std::move(*down));
                for (int const child : children)
                    send(node, child,
                         [=, this] { perform(child, fences(child).from_parent(*message)); });
            } else if (auto* done = std::get_if<FenceNode::Done>(&action)) {
                ended(*done);
            } else {
                FAIL() << "node " << node << ": " << std::get<FenceNode::Failed>(action).why;
            }
        }
    }

    void ended(FenceNode::Done const& done) {
        std::size_t const parts = blob_.empty() ? 0 : static_cast<std::size_t>(agents_);
        EXPECT_EQ(done.parts.size(), parts);
        ++done_;
        measured_.fence_ms = static_cast<double>(network_.now() - began_) / 1000;
    }

    void count_fence() {
        EXPECT_EQ(done_, agents_);
        for (int node = 0; node < agents_; ++node) {
            auto const all = network_.traffic(process(node)).all();
            measured_.fence_most = std::max(measured_.fence_most, all);
            measured_.fence_mean += static_cast<double>(all) / agents_;
            EXPECT_EQ(fences(node).pending(), 0u);
        }
        EXPECT_EQ(fences(root_node).ignored(), 0u);
        measured_.mib = heap_mib();
        measured_.kib_per_agent = (measured_.mib - memory_before_) * 1024 / agents_;
    }

    int agents_;
    News news_;
    Bytes blob_;
    double memory_before_;
    SimulatedNetwork network_;
    TreeBuilder tree_;
    std::vector<FenceNode> fences_;
    std::vector<int> dialling_;
    int transient_ = 0, there_ = 0, done_ = 0;
    SimulatedNetwork::Microseconds began_ = 0;
    Measured measured_;
};

bool sanitized() {
#if defined(SINEW_TEST_ASAN) || defined(SINEW_TEST_TSAN)
    return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return true;
#endif
#endif
    return false;
}

void print(std::vector<Measured> const& rows) {
    std::printf(
        "| agents | depth | root's links (on the way) | joined after | messages per agent "
        "(most) | fence | messages per agent (most) | memory per agent |\n");
    for (auto const& row : rows)
        std::printf(
            "| %d | %d | %d (%d) | %.1f ms | %.1f (%u) | %.2f ms | %.1f (%u) | %.1f KiB |\n",
            row.agents, row.depth, row.root_links, row.most_transient, row.join_ms, row.join_mean,
            row.join_most, row.fence_ms, row.fence_mean, row.fence_most, row.kib_per_agent);
}

void expect_bounds(Measured const& row) {
    double const levels = std::ceil(std::log(row.agents) / std::log(fanout));
    EXPECT_LE(row.depth, levels + 1);
    EXPECT_LE(row.root_links, fanout);
    EXPECT_LE(row.most_transient, window);
    EXPECT_LE(row.fence_most, 2u * (fanout + 1));
    EXPECT_LT(row.fence_mean, 4.0);
    EXPECT_LT(row.mib, 2048);
    // Four messages with the root, three with the parent and each child, and the launch.
    if (row.news == News::from_the_root) EXPECT_LE(row.join_most, 9u + 4u * fanout);
    else EXPECT_LT(row.join_mean, 10 + 2 * levels);
}

void simulate(News news) {
    std::vector<Measured> rows;
    for (int const agents : {1'000, 10'000, 100'000}) {
        if (sanitized() && agents > 1'000) break;
        // With 100,000 agents, the same 10 MB for each would add nothing.
        std::size_t const blob = agents > 10'000 ? 0 : 100;
        rows.push_back(SimulatedJob(agents, blob, news).run());
        expect_bounds(rows.back());
    }
    print(rows);
    for (auto const& row : rows) {
        double const ratio = std::log(row.agents) / std::log(rows.front().agents);
        EXPECT_LT(row.fence_ms, 1.5 * ratio * rows.front().fence_ms) << row.agents << " agents";
    }
}

TEST(ScaleSimulation, NewsPassedOnCostsTheLogarithmOnAverage) { simulate(News::passed_on); }

TEST(ScaleSimulation, NewsFromTheRootCostEachAgentABoundedNumber) { simulate(News::from_the_root); }

}  // namespace
}  // namespace sinew::launch
