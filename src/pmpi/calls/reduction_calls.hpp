// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/pmpi/calls/non_blocking_call.hpp"
#include "src/pmpi/collective_call.hpp"

/// The arguments of the reductions, in each of their forms. Whether one is taken depends on the operation,
/// the type and the count, which MPI requires to be equal on all ranks. Each class has
///
/// - run: executes the call, whatever its length;
/// - post: prepares it to be posted, if it is short;
/// - check: whether run would take it; touches no buffer;
/// - each_type: calls `f` for the types that mean something on this rank.
namespace sinew::pmpi {

/// allreduce, scan, exscan: a vector on each rank, and a result on each rank: of all ranks, of those up
/// to this one, or of those below it.
struct VectorToAll {
    enum class Result : std::uint8_t { of_all, up_to_own, below_own };

    Result result;
    void const* send;
    void* receive;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Op op;

    CallOutcome run(CollectiveCall& call) const;
    CallOutcome post(NonBlockingCall& call) const;
    CallOutcome check(CommRoute const& route) const;
    template <class F>
    void each_type(int, F const& f) {
        f(type);
    }

private:
    CallOutcome arrange(CommRoute const& route, collectives::Arguments& args) const;
};

struct Reduce {
    void const* send;
    void* receive;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Op op;
    int root;

    CallOutcome run(CollectiveCall& call) const;
    CallOutcome post(NonBlockingCall& call) const;
    CallOutcome check(CommRoute const& route) const;
    template <class F>
    void each_type(int, F const& f) {
        f(type);
    }

private:
    CallOutcome arrange(CommRoute const& route, collectives::Arguments& args) const;
};

/// Reduces the vectors and leaves to each rank its block: of `count` elements or, in reduce_scatter, of
/// `counts[rank]`.
template <class Count>
struct ReduceScatter {
    void const* send;
    void* receive;
    Count const* counts;
    MPI_Count count;
    bool equal;  ///< blocks: reduce_scatter_block
    MPI_Datatype type;
    MPI_Op op;

    CallOutcome run(CollectiveCall& call) const;
    CallOutcome post(NonBlockingCall& call) const;
    CallOutcome check(CommRoute const& route) const;
    template <class F>
    void each_type(int, F const& f) {
        f(type);
    }

private:
    MPI_Count block(int rank) const { return equal ? count : counts[rank]; }
    CallOutcome arrange(CommRoute const& route, collectives::Arguments& args,
                        MPI_Count& total) const;
    bool in_place() const;
};

}  // namespace sinew::pmpi
