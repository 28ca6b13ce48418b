// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <sinew/communicator.hpp>
#include <sinew/sgd/gradient_buckets.hpp>

#include "src/sgd/bucket_plan.hpp"
#include "src/sgd/low_rank.hpp"

namespace sinew::sgd {

/// The memory of one bucket, and its sum over all ranks in the chosen wire format.
///
/// 16-bit formats and blocks are exchanged by shards, one per rank: each rank gets all versions of
/// its shard (alltoall), sums them in f32, rounds or quantises the sum, and all get it (allgather).
/// So a rank sends 2 (P-1)/P of the bucket's encoded bytes. Ranks of one node sum 16-bit formats by
/// an allreduce, which through memory rounds at the same places and gives the same bits.
class BucketReduction {
public:
    /// Allocates. `comm` is borrowed. If `sharded`, `reduce` gives each rank the sums of its part alone.
    BucketReduction(Communicator& comm, BucketPlan const& plan, GradientOptions const& options,
                    bool sharded = false);

    /// The bucket's elements, of the plan's type. `reduce` replaces them by their sums.
    void* elements() const { return elements_.data(); }

    /// Sums the elements over all ranks. Collective. A rank that does not contribute must have
    /// zeros; its residual stays as it is.
    void reduce(bool contributes);

    /// If sharded: the sums of this rank's part, `shard` elements from rank x shard on, after `reduce`.
    std::span<float> sums() { return sums_; }
    /// If sharded: memory for `shard` elements of each rank, of type `gathered_type`. It may be that of
    /// `elements`, whose gaps between tensors must stay zeros.
    std::byte* gathered() const {
        return gathered_.size() > 0 ? gathered_.data() : elements_.data();
    }
    DataType gathered_type() const { return gathered_type_; }
    /// Gives all ranks what each has written to its part of `gathered`. Collective.
    void gather();

    /// What this rank has rounded away and not sent yet, element by element; empty without error
    /// feedback. `sum_residual` is that of the sums of this rank's shard.
    std::vector<float> const& residual() const { return residual_; }
    std::vector<float> const& sum_residual() const { return sum_residual_; }
    LowRank const& low_rank() const { return low_rank_; }
    /// Sets these and what `low_rank` keeps from the front of `values`, which has as many at least. Returns how many it took.
    std::size_t restore(std::span<float const> values);
    std::size_t shard() const { return shard_; }
    /// What keeps the elements.
    std::shared_ptr<void> const& memory() const { return elements_.memory(); }

private:
    void reduce_scatter();
    void reduce_halves();
    void reduce_blocks(bool contributes);
    CallOptions call(bool native = false) const;

    Communicator& comm_;
    DataType type_;
    std::size_t count_;
    WireFormat wire_;
    std::string algorithm_;
    std::chrono::nanoseconds timeout_;
    std::size_t ranks_;
    bool sharded_;
    bool by_shards_ = false;
    std::size_t shard_ = 0;  ///< elements of one shard, of which there are ranks_
    NodeBuffer<std::byte> elements_;
    NodeBuffer<std::byte> sent_, received_, gathered_;
    DataType gathered_type_ = DataType::Kind::f32;
    struct Gap {
        std::size_t begin, end;
    };
    std::vector<Gap> gaps_;  ///< between tensors, and after the last one
    std::vector<float> sums_;
    std::vector<float> residual_, sum_residual_;
    LowRank low_rank_;
};

}  // namespace sinew::sgd
