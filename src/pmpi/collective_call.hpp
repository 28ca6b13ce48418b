// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

#include "collectives/node/node_call.hpp"
#include "collectives/schedule/scratch.hpp"
#include "src/pmpi/comm_route.hpp"
#include "src/pmpi/mpi_waiter.hpp"
#include "src/pmpi/real.hpp"
#include "src/pmpi/requests/background_collective.hpp"

namespace sinew::pmpi {

/// One collective of the program on its way through shared memory: executed at once or, with `later`, only
/// prepared.
struct CollectiveCall {
    CommRoute& route;
    MPI_Comm comm;
    BackgroundCollective* later = nullptr;
    collectives::Arguments args{};

    int rank() const { return route.rank; }
    int size() const { return route.size; }
    bool at_root() const { return route.rank == args.root; }
    void run(BackgroundCollective::Algorithm algorithm) {
        if (later != nullptr) [[unlikely]] {
            later->prepare(algorithm, args);
            return;
        }
        route.end_posted();
        MpiWaiter waiter(route);
        algorithm({*route.room, waiter, args});
    }
    /// Calls `f`, which the algorithm's end must precede.
    template <class F>
    void afterwards(F const& f) const {
        if (later != nullptr) later->afterwards(f);
        else f();
    }
};

/// Reports a failed call as MPI does: calls the communicator's error handler, and returns its code
/// if that returns. The communicator is lost.
int fail(MpiFunction function, MPI_Comm comm, CommRoute& route, std::exception const& error);

/// Working memory of a call: this thread's, which is free again when the object is destroyed, or that of a
/// call that is executed later.
class CallScratch {
public:
    CallScratch() = default;
    explicit CallScratch(CollectiveCall const& call)
        : memory_(call.later != nullptr ? call.later->scratch() : of_thread()),
          ends_here_(call.later == nullptr) {}
    CallScratch(CallScratch const&) = delete;
    CallScratch& operator=(CallScratch const&) = delete;
    ~CallScratch() {
        if (ends_here_) memory_.release();
    }
    std::byte* take(std::size_t bytes) { return memory_.take(bytes).data(); }
    template <class T>
    std::span<T> take_array(std::size_t count) {
        return memory_.take_array<T>(count);
    }

private:
    static collectives::Scratch& of_thread() {
        thread_local collectives::Scratch memory;
        return memory;
    }

    collectives::Scratch& memory_ = of_thread();
    bool ends_here_ = true;
};

/// Whether MPI would refuse a buffer: null with elements.
inline bool missing(void const* buffer, std::size_t bytes) {
    return buffer == nullptr && bytes > 0;
}

}  // namespace sinew::pmpi
