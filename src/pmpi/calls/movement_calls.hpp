// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/node/node_call.hpp"
#include "src/pmpi/calls/non_blocking_call.hpp"
#include "src/pmpi/calls/rank_parts.hpp"

/// The arguments of the collectives in which no rank is special but the root of a broadcast, in each of
/// their forms. See reduction_calls.hpp for what each class has.
namespace sinew::pmpi {

struct Barrier {
    CallOutcome run(CollectiveCall& call) const {
        call.run(collectives::node::barrier);
        return CallOutcome::taken;
    }
    CallOutcome post(NonBlockingCall& call) const { return call.plan(0); }
    CallOutcome check(CommRoute const&) const { return CallOutcome::taken; }
    template <class F>
    void each_type(int, F const&) {}
};

struct Bcast {
    void* buffer;
    MPI_Count count;
    MPI_Datatype type;
    int root;

    CallOutcome run(CollectiveCall& call) const;
    CallOutcome post(NonBlockingCall& call) const;
    CallOutcome check(CommRoute const& route) const;
    template <class F>
    void each_type(int, F const& f) {
        f(type);
    }
};

/// allgather and allgatherv. `P`: RankParts.
template <class P>
struct Allgather {
    void const* send;
    MPI_Count count;
    MPI_Datatype send_type;
    void* receive;
    P parts;
    MPI_Datatype type;

    CallOutcome run(CollectiveCall& call) const;
    CallOutcome post(NonBlockingCall& call) const;
    CallOutcome check(CommRoute const& route) const;
    template <class F>
    void each_type(int, F const& f) {
        if (send != MPI_IN_PLACE) f(send_type);
        f(type);
    }
};

/// alltoall and alltoallv.
template <class P>
struct Alltoall {
    void const* send;
    P sent;
    MPI_Datatype send_type;
    void* receive;
    P parts;
    MPI_Datatype type;

    CallOutcome run(CollectiveCall& call) const;
    CallOutcome post(NonBlockingCall& call) const;
    CallOutcome check(CommRoute const& route) const;
    template <class F>
    void each_type(int, F const& f) {
        if (send != MPI_IN_PLACE) f(send_type);
        f(type);
    }
};

}  // namespace sinew::pmpi
