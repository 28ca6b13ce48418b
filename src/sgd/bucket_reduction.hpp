// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <sinew/communicator.hpp>
#include <sinew/sgd/gradient_buckets.hpp>

#include "src/sgd/bucket_plan.hpp"
#include "src/sgd/coding/host_coder.hpp"
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
    /// `coder` (borrowed) codes fp8 and int8 where the elements are; null: they are in `elements`. If it
    /// throws, the communicator ends, since the other ranks wait for the bucket. If there is `elsewhere`,
    /// `reduce` calls it instead, and no memory is allocated here.
    BucketReduction(Communicator& comm, BucketPlan const& plan, GradientOptions const& options,
                    bool sharded = false, BucketCoder* coder = nullptr,
                    std::function<void(bool contributes)> elsewhere = {});

    /// The bucket's elements, of the plan's type; null if they are elsewhere. `reduce` replaces them by their
    /// sums; those of another coder only if their norm is needed.
    void* elements() const { return elements_.data(); }

    /// A part of the bucket that is summed where it lies, in a tensor.
    struct InTensor {
        std::size_t offset, count;
        void* elements;
    };

    /// Whether `reduce` can multiply the sums: if they are made by an allreduce in the bucket's own type.
    bool scales_sums() const {
        return !elsewhere_ && !low_rank_.compresses() && coder_ == nullptr && !by_shards_ &&
               wire_ == WireFormat::native;
    }
    /// Sums the elements over all ranks, and multiplies the sums by `scale`, which is the same on all ranks.
    /// Collective. A rank that does not contribute must have zeros; its residual stays as it is. `in_tensors` are
    /// the same parts on all ranks, in their order. These, and a scale that is not 1, require scales_sums().
    void reduce(bool contributes, double scale = 1, std::span<InTensor const> in_tensors = {});

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

    /// What is kept between steps: what this rank has rounded away and not sent yet, and the factors of
    /// `low_rank`. May take the elements of a GPU to the host.
    std::vector<float> kept() const;
    /// How many floats these are.
    std::size_t kept_count() const;
    /// Sets them. Requires: as many.
    void restore(std::span<float const> values);
    /// Elements of one rank's part.
    std::size_t shard() const { return shard_; }
    /// What keeps the elements.
    std::shared_ptr<void> const& memory() const { return elements_.memory(); }

private:
    void allreduce(void* elements, std::size_t count, double scale);
    void reduce_parts(double scale, std::span<InTensor const> in_tensors);
    void reduce_scatter();
    void reduce_halves();
    void reduce_blocks(bool contributes);
    template <class Call>
    void code(Call const& call);
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
    RowShape shape_;
    std::size_t shard_ = 0;  ///< elements of one shard, of which there are ranks_
    NodeBuffer<std::byte> elements_;
    NodeBuffer<std::byte> sent_, received_, gathered_;
    DataType gathered_type_ = DataType::Kind::f32;
    std::vector<float> sums_;
    std::function<void(bool)> elsewhere_;
    BucketCoder* coder_;                     ///< of fp8 and int8; null in other formats
    std::unique_ptr<HostCoder> host_coder_;  ///< that one, or one that only decodes for the norm
    LowRank low_rank_;
};

}  // namespace sinew::sgd
