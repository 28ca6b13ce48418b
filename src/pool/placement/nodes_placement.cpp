// SPDX-License-Identifier: Apache-2.0
#include "src/pool/placement/nodes_placement.hpp"

#include <algorithm>
#include <iterator>
#include <sinew/error.hpp>
#include <vector>

#include "src/base/text.hpp"
#include "src/nodes/access.hpp"
#include "src/pool/placement/child_worker.hpp"
#include "src/pool/placement/room.hpp"
#include "src/process/child/remote_host.hpp"

namespace sinew::pool {
namespace {

using nodes::NodeShare;

class NodesPlacement final : public WorkerPlacement {
public:
    NodesPlacement(Nodes const& nodes, bool by_cores)
        : keep_(nodes::Access::keep(nodes)), nodes_(nodes.all()),
          shares_(nodes::Access::shares(nodes)),
          local_(make_local_placement(shares_.front().cpus)) {
        int most = 1;
        if (by_cores)
            for (auto const& share : shares_) most = std::max(most, share.cores);
        for (int turn = 0; turn < most; ++turn)
            for (std::size_t node = 0; node < shares_.size(); ++node)
                if (turn < shares_[node].cores) node_of_slot_.push_back(node);
    }

    std::unique_ptr<WorkerHandle> start(std::uint32_t slot, WorkerStart const& start) override {
        auto node = node_of_slot_[slot % node_of_slot_.size()];
        // A slot whose node is lost moves to another.
        if (process::is_lost(nodes_[node])) {
            std::vector<std::size_t> left;
            std::copy_if(node_of_slot_.begin(), node_of_slot_.end(), std::back_inserter(left),
                         [this](auto each) { return !process::is_lost(nodes_[each]); });
            node = left[slot % left.size()];
        }
        if (node == 0) return local_->start(slot, start);
        return start_worker(nodes_[node], {}, slot, start);
    }
    int cores() const override {
        int sum = 0;
        for (auto const& share : shares_) sum += share.cores;
        return sum;
    }
    int room(Meta const& wish) const override {
        std::uint64_t sum = 0;
        for (auto const& share : shares_) sum += room_on(share, wish);
        return static_cast<int>(std::max<std::uint64_t>(1, sum));
    }
    void require(Meta const& wish, int workers) const override {
        std::vector<int> workers_of(shares_.size());
        for (std::size_t slot = 0; slot < static_cast<std::size_t>(workers); ++slot)
            ++workers_of[node_of_slot_[slot % node_of_slot_.size()]];
        if (workers_of[0] > 0) local_->require(wish, workers_of[0]);
        for (std::size_t node = 1; node < shares_.size(); ++node)
            if (workers_of[node] > 0) require_of(shares_[node], wish, workers_of[node]);
    }
    void over() override {
        nodes_.clear();
        keep_ = nullptr;
    }

private:
    static void require_of(NodeShare const& node, Meta const& wish, int workers) {
        auto const refuse = [&](std::uint64_t wanted, std::uint64_t there, char const* what) {
            throw UsageError(text("a pool with ", workers, " workers on ", node.host, " needs ",
                                  wanted, what, ", but that host provides ", there,
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

    std::shared_ptr<void const> keep_;  ///< keeps the agents alive
    std::vector<Node> nodes_;
    std::vector<NodeShare> const shares_;
    std::unique_ptr<WorkerPlacement> const local_;
    std::vector<std::size_t> node_of_slot_;
};

}  // namespace

std::unique_ptr<WorkerPlacement> make_nodes_placement(Nodes const& nodes, bool by_cores) {
    return std::make_unique<NodesPlacement>(nodes, by_cores);
}

}  // namespace sinew::pool
