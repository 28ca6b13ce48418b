// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/pmpi/calls/non_blocking_call.hpp"
#include "src/pmpi/calls/rank_parts.hpp"

/// The arguments of gather(v) and scatter(v), in each of their forms: those of one side mean nothing on
/// the ranks of the other. See reduction_calls.hpp for what each class has.
namespace sinew::pmpi {

template <class P>
struct Gather {
    void const* send;
    MPI_Count count;
    MPI_Datatype send_type;
    void* receive;
    P parts;
    bool equal;  ///< parts: not gatherv, of which no rank but the root knows the longest message
    MPI_Datatype type;
    int root;

    CallOutcome run(CollectiveCall& call) const;
    CallOutcome post(NonBlockingCall& call) const;
    CallOutcome check(CommRoute const& route) const;
    template <class F>
    void each_type(int rank, F const& f) {
        if (send != MPI_IN_PLACE) f(send_type);
        if (rank == root) f(type);
    }
};

template <class P>
struct Scatter {
    void const* send;
    P parts;
    bool equal;
    MPI_Datatype send_type;
    void* receive;
    MPI_Count count;
    MPI_Datatype type;
    int root;

    CallOutcome run(CollectiveCall& call) const;
    CallOutcome post(NonBlockingCall& call) const;
    CallOutcome check(CommRoute const& route) const;
    template <class F>
    void each_type(int rank, F const& f) {
        if (rank == root) f(send_type);
        if (receive != MPI_IN_PLACE) f(type);
    }

private:
    void run_at_root(CollectiveCall& call) const;
};

}  // namespace sinew::pmpi
