// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

namespace sinew::collectives {

/// The order in which rings and chains pass the ranks: node after node, so that each node has one
/// cable in and one out, however the ranks were dealt to the nodes. Within a node it is that of the
/// ranks. Immutable, so any thread may use it.
class RingOrder {
public:
    /// `node_of` has the node of each rank. Nodes come in the order of their numbers.
    explicit RingOrder(std::span<int const> node_of);

    /// Whether each rank is at the position of its own number.
    bool is_rank_order() const { return ranks_.empty(); }
    int rank_at(int position) const { return ranks_[static_cast<std::size_t>(position)]; }
    int position_of(int rank) const { return positions_[static_cast<std::size_t>(rank)]; }

private:
    std::vector<int> ranks_;  // by position; both are empty if that is the rank order
    std::vector<int> positions_;
};

/// The ranks next to this one on a ring.
struct RingNeighbors {
    int next;
    int previous;
};

/// This rank's place on the ring.
class RingPlace {
public:
    /// Without an order it is that of the ranks. `order` must outlive this.
    RingPlace(int rank, int ranks, RingOrder const* order)
        : order_(order != nullptr && !order->is_rank_order() ? order : nullptr), ranks_(ranks),
          position_(position_of(rank)) {}

    int position() const { return position_; }
    int position_of(int rank) const { return order_ == nullptr ? rank : order_->position_of(rank); }
    /// Positions wrap around, also below zero.
    int rank_at(int position) const {
        int const wrapped = (position % ranks_ + ranks_) % ranks_;
        return order_ == nullptr ? wrapped : order_->rank_at(wrapped);
    }
    RingNeighbors neighbors() const {
        return {.next = rank_at(position_ + 1), .previous = rank_at(position_ - 1)};
    }

private:
    RingOrder const* order_;
    int ranks_;
    int position_;
};

}  // namespace sinew::collectives
