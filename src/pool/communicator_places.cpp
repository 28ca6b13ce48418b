// SPDX-License-Identifier: Apache-2.0
#include "src/pool/communicator_places.hpp"

#include <algorithm>
#include <utility>

namespace sinew::pool {
namespace {

class CommunicatorPlaces final : public Places {
public:
    CommunicatorPlaces(process::Runtime& runtime, std::vector<NodeShare> nodes,
                       std::vector<std::shared_ptr<RemoteNode>> ranks, bool by_cores)
        : runtime_(runtime), nodes_(std::move(nodes)), ranks_(std::move(ranks)),
          local_(make_local_places(nodes_.front().cpus)) {
        int most = 1;
        if (by_cores)
            for (auto const& node : nodes_) most = std::max(most, node.cores);
        for (int turn = 0; turn < most; ++turn)
            for (std::size_t node = 0; node < nodes_.size(); ++node)
                if (turn < nodes_[node].cores) seats_.push_back(node);
    }
    // Whoever holds the pool to the last: the others are let go in any case.
    ~CommunicatorPlaces() override {
        runtime_.loop().post([ranks = std::move(ranks_)] { release(ranks); });
    }

    std::unique_ptr<WorkerPort> start(std::uint32_t slot, WorkerStart const& start) override {
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
    void over() override { release(ranks_); }

private:
    static void release(std::vector<std::shared_ptr<RemoteNode>> const& ranks) {
        for (auto const& rank : ranks)
            if (rank) rank->over();
    }
    RemoteNode& remote(std::size_t node) const {
        return *ranks_[static_cast<std::size_t>(nodes_[node].supervisor)];
    }
    bool lost(std::size_t node) const { return node != 0 && remote(node).lost(); }

    process::Runtime& runtime_;
    std::vector<NodeShare> nodes_;
    std::vector<std::shared_ptr<RemoteNode>> ranks_;
    std::unique_ptr<Places> local_;
    std::vector<std::size_t> seats_;  ///< the node of each slot
};

}  // namespace

std::unique_ptr<Places> make_communicator_places(process::Runtime& runtime,
                                                 std::vector<NodeShare> nodes,
                                                 std::vector<std::shared_ptr<RemoteNode>> ranks,
                                                 bool by_cores) {
    return std::make_unique<CommunicatorPlaces>(runtime, std::move(nodes), std::move(ranks),
                                                by_cores);
}

}  // namespace sinew::pool
