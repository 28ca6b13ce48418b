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

/// Whether MPI would refuse a buffer: null with elements.
inline bool missing(void const* buffer, std::size_t bytes) {
    return buffer == nullptr && bytes > 0;
}

}  // namespace sinew::pmpi
