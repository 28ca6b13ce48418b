// SPDX-License-Identifier: Apache-2.0
#include "src/pool/master/communicator_placement.hpp"

#include <algorithm>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/text.hpp"

namespace sinew::pool {
namespace {

class CommunicatorPlacement final : public WorkerPlacement {
public:
    CommunicatorPlacement(process::Runtime& runtime, std::vector<NodeShare> nodes,
                          std::vector<std::shared_ptr<RemoteNode>> ranks, bool by_cores)
        : runtime_(runtime), nodes_(std::move(nodes)), ranks_(std::move(ranks)),
          local_(make_local_placement(nodes_.front().cpus)) {
        int most = 1;
        if (by_cores)
            for (auto const& node : nodes_) most = std::max(most, node.cores);
        for (int turn = 0; turn < most; ++turn)
            for (std::size_t node = 0; node < nodes_.size(); ++node)
                if (turn < nodes_[node].cores) seats_.push_back(node);
    }
    // Whoever holds the pool to the last: the others are let go in any case.
    ~CommunicatorPlacement() override {
        runtime_.loop().post([ranks = std::move(ranks_)] { release(ranks); });
    }

    std::unique_ptr<WorkerHandle> start(std::uint32_t slot, WorkerStart const& start) override {
        auto node = seats_[slot % seats_.size()];
        // A slot whose node is lost moves to another.
        if (lost(node)) {
            std::vector<std::size_t> left;
            std::copy_if(seats_.begin(), seats_.end(), std::back_inserter(left),
                         [this](auto each) { return !lost(each); });
            node = left[slot % left.size()];
        }
        if (node == 0) return local_->start(slot, start);
        return remote(node).start(slot, start);
    }
    int cores() const override {
        int sum = 0;
        for (auto const& node : nodes_) sum += node.cores;
        return sum;
    }
    int room(Meta const& wish) const override {
        std::uint64_t sum = 0;
        for (auto const& node : nodes_) sum += room_on(node, wish);
        return static_cast<int>(std::max<std::uint64_t>(1, sum));
    }
    void require(Meta const& wish, int workers) const override {
        std::vector<int> workers_of(nodes_.size());
        for (std::size_t slot = 0; slot < static_cast<std::size_t>(workers); ++slot)
            ++workers_of[seats_[slot % seats_.size()]];
        if (workers_of[0] > 0) local_->require(wish, workers_of[0]);
        for (std::size_t node = 1; node < nodes_.size(); ++node)
            if (workers_of[node] > 0) require_of(nodes_[node], wish, workers_of[node]);
    }
    void over() override { release(ranks_); }

private:
    static void release(std::vector<std::shared_ptr<RemoteNode>> const& ranks) {
        for (auto const& rank : ranks)
            if (rank) rank->over();
    }
    RemoteNode& remote(std::size_t node) const {
        return *ranks_[static_cast<std::size_t>(nodes_[node].supervisor)];
    }
    static std::uint64_t room_on(NodeShare const& node, Meta const& wish) {
        auto room = static_cast<std::uint64_t>(node.cores) /
                    static_cast<std::uint64_t>(std::max(1, wish.cpu));
        if (wish.memory_mib > 0 && node.memory_mib > 0)
            room = std::min(room, node.memory_mib / wish.memory_mib);
        if (wish.gpu > 0) room = std::min(room, static_cast<std::uint64_t>(node.gpus / wish.gpu));
        return room;
    }
    static void require_of(NodeShare const& node, Meta const& wish, int workers) {
        auto const refuse = [&](std::uint64_t wanted, std::uint64_t there, char const* what) {
            throw UsageError(text("a pool with ", workers, " workers on ", node.host, " wants ",
                                  wanted, what, ", that host lets us have ", there,
                                  ". Ask for less (Meta), or for fewer workers"));
        };
        auto const gpus =
            static_cast<std::uint64_t>(wish.gpu) * static_cast<std::uint64_t>(workers);
        if (wish.cpu > node.cores)
            refuse(static_cast<std::uint64_t>(wish.cpu), static_cast<std::uint64_t>(node.cores),
                   " cores for each");
        if (node.memory_mib > 0 && wish.memory_mib > node.memory_mib)
            refuse(wish.memory_mib, node.memory_mib, " MiB of memory for each");
        if (gpus > static_cast<std::uint64_t>(node.gpus))
            refuse(gpus, static_cast<std::uint64_t>(node.gpus), " GPUs in all");
    }
    bool lost(std::size_t node) const { return node != 0 && remote(node).lost(); }

    process::Runtime& runtime_;
    std::vector<NodeShare> nodes_;
    std::vector<std::shared_ptr<RemoteNode>> ranks_;
    std::unique_ptr<WorkerPlacement> local_;
    std::vector<std::size_t> seats_;  ///< the node of each slot
};

}  // namespace

std::unique_ptr<WorkerPlacement> make_communicator_placement(
    process::Runtime& runtime, std::vector<NodeShare> nodes,
    std::vector<std::shared_ptr<RemoteNode>> ranks, bool by_cores) {
    return std::make_unique<CommunicatorPlacement>(runtime, std::move(nodes), std::move(ranks),
                                                   by_cores);
}

}  // namespace sinew::pool
