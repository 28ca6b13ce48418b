// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

#include "collectives/node/node_call.hpp"
#include "collectives/schedule/scratch.hpp"
#include "src/pmpi/comm_route.hpp"
#include "src/pmpi/mpi_waiter.hpp"
#include "src/pmpi/real.hpp"

namespace sinew::pmpi {

/// One collective of the program on its way through shared memory.
struct CollectiveCall {
    CommRoute& route;
    MPI_Comm comm;
    collectives::Arguments args{};

    int rank() const { return route.rank; }
    int size() const { return route.size; }
    bool at_root() const { return route.rank == args.root; }
    void run(void (*algorithm)(collectives::node::NodeCall const&)) {
        route.end_posted();
        MpiWaiter waiter(route);
        algorithm({*route.room, waiter, args});
    }
};

/// Reports a failed call as MPI does: calls the communicator's error handler, and returns its code
/// if that returns. The communicator is lost.
int fail(MpiFunction function, MPI_Comm comm, CommRoute& route, std::exception const& error);

/// This thread's working memory, which is free again when the object is destroyed.
class CallScratch {
public:
    CallScratch() = default;
    CallScratch(CallScratch const&) = delete;
    CallScratch& operator=(CallScratch const&) = delete;
    ~CallScratch() { scratch().release(); }
    std::byte* take(std::size_t bytes) { return scratch().take(bytes).data(); }
    template <class T>
    std::span<T> take_array(std::size_t count) {
        return scratch().take_array<T>(count);
    }

private:
    static collectives::Scratch& scratch() {
        thread_local collectives::Scratch memory;
        return memory;
    }
};

/// Executes a call: by `ours`, an `CallOutcome(CollectiveCall&)`, or by MPI, if the communicator has no room or
/// `ours` returns another outcome than `taken`. `ours` must decide alike on all ranks, before it
/// communicates.
template <class Ours, class Mpi>
int execute(MpiFunction function, MPI_Comm comm, Ours const& ours, Mpi const& mpi) {
    CallOutcome outcome = CallOutcome::off;
    CommRoute* const route = find_route(comm, outcome);
    if (route == nullptr) {
        if (MpiJob* const job = MpiJob::current()) job->statistics().count(function, outcome);
        return mpi();
    }
    Statistics& statistics = route->job->statistics();
    try {
        CollectiveCall call{*route, comm};
        if (!statistics.on() && !route->lost) [[likely]] {
            outcome = ours(call);
        } else {
            if (route->lost)
                throw std::runtime_error("an earlier call on this communicator failed");
            auto const begin = Statistics::Clock::now();
            outcome = ours(call);
            statistics.count(function, outcome);
            if (outcome == CallOutcome::taken)
                statistics.count_time(function, call.args.bytes(), call.size(),
                                      Statistics::Clock::now() - begin);
        }
    } catch (std::exception const& error) {
        return fail(function, comm, *route, error);
    }
    return outcome == CallOutcome::taken ? MPI_SUCCESS : mpi();
}

/// Whether MPI would refuse a buffer: null with elements.
inline bool missing(void const* buffer, std::size_t bytes) {
    return buffer == nullptr && bytes > 0;
}

}  // namespace sinew::pmpi
