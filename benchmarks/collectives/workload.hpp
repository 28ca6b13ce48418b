// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <sinew/communicator.hpp>
#include <vector>

namespace sinew::bench {

/// The arguments of one call, on one rank. `count` is the total as nccl-tests defines it: the
/// longest vector that a rank sends or receives, which is the sum of all parts if there are parts.
struct Problem {
    Collective collective = Collective::allreduce;
    DataType type = DataType::Kind::f32;
    ReduceOp op = sum;
    int ranks = 1;
    int rank = 0;
    std::size_t count = 0;
    std::vector<std::size_t> parts = {};  ///< elements by rank, if there are parts

    static constexpr int root = 0;

    /// Makes a problem of about `bytes`. Equal parts need a multiple of the ranks (rounded down, at
    /// least one element each); collectives ending in v, and reduce_scatter, give the rest to the
    /// first ranks.
    static Problem of(Collective collective, DataType type, ReduceOp const& op, std::size_t bytes,
                      Communicator const& comm);

    std::size_t bytes() const { return count * type.size(); }
    std::size_t part() const { return parts.empty() ? 0 : parts[static_cast<std::size_t>(rank)]; }
    /// The number of elements before the part of rank `of_rank`.
    std::size_t offset(int of_rank) const;
    bool is_root() const { return rank == root; }

    /// The elements that this rank sends and receives. A broadcast has only the second buffer.
    std::size_t in_count() const;
    std::size_t out_count() const;
};

/// A problem and its two buffers, which all contenders share.
class Workload {
public:
    explicit Workload(Problem problem);
    /// With buffers in memory that the ranks of a node share (Communicator::allocate).
    Workload(Problem problem, Communicator& comm);

    Problem const& problem() const { return problem_; }
    ConstBuffer in() const { return {in_.get(), problem_.in_count(), problem_.type}; }
    Buffer out() const { return {out_.get(), problem_.out_count(), problem_.type}; }
    std::byte* in_bytes() const { return in_.get(); }
    std::byte* out_bytes() const { return out_.get(); }

    /// Accesses the caches as an application does between two calls: the owner writes every line of
    /// its send buffer (keeping the values) and reads every line that it received.
    void live() const;

private:
    using Memory = std::shared_ptr<std::byte>;
    static Memory allocate(std::size_t bytes);
    static Memory allocate_shared(Communicator& comm, std::size_t bytes);

    Problem problem_;
    Memory in_, out_;
};

}  // namespace sinew::bench
