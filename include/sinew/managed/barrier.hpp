// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <sinew/detail/managed_handle.hpp>
#include <sinew/error.hpp>

namespace sinew {

/// Not all parties arrived at a barrier: one gave up, was lost, or aborted it, or it was reset.
class BrokenBarrier : public Error {
public:
    using Error::Error;
};

namespace managed {

class Gathering;

/// The asynchronous form of Barrier. Cancelling a wait that has begun breaks the barrier.
class AsyncBarrier : public Handle<AsyncBarrier, Gathering> {
public:
    explicit AsyncBarrier(Object<Gathering> object) : Handle(std::move(object)) {}
    static char const* kept();

    Reply<std::size_t> wait() const { return wait(next_ticket()); }
    Reply<void> abort() const;
    Reply<void> reset() const;
    Reply<std::size_t> parties() const;
    Reply<std::size_t> waiting() const;
    Reply<bool> broken() const;

    /// A wait under a caller-chosen ticket; give_up() with that ticket ends it and breaks the
    /// barrier.
    Reply<std::size_t> wait(std::uint64_t ticket) const;
    void give_up(std::uint64_t ticket) const;
    static std::uint64_t next_ticket();
};

/// A reusable barrier at which a fixed number of threads, of any processes, wait for each other.
///
/// If a process is lost while it waits, or gives up, the barrier is broken: all that wait, and all
/// that arrive later, get BrokenBarrier until it is reset. The barrier does not know of a process
/// that is lost before it arrives; use wait_for() where that may happen. Thread-safe.
class Barrier : public Handle<Barrier, Gathering> {
public:
    explicit Barrier(Object<Gathering> object) : Handle(std::move(object)) {}
    static char const* kept() { return AsyncBarrier::kept(); }
    AsyncBarrier async() const { return AsyncBarrier(object()); }

    /// Blocks until all parties have arrived. Returns the order of arrival: 0 for the first,
    /// parties() - 1 for the last. Throws BrokenBarrier.
    std::size_t wait() const { return async().wait().get(); }
    /// As wait(), for at most `limit`. At the limit the barrier is broken for all parties. Throws
    /// BrokenBarrier.
    std::size_t wait_for(std::chrono::nanoseconds limit) const;
    /// Breaks the barrier: all waits throw BrokenBarrier.
    void abort() const { async().abort().get(); }
    /// Makes a broken barrier usable again. Waits in progress throw BrokenBarrier.
    void reset() const { async().reset().get(); }
    std::size_t parties() const { return async().parties().get(); }
    /// The number of parties that wait.
    std::size_t waiting() const { return async().waiting().get(); }
    bool broken() const { return async().broken().get(); }
};

}  // namespace managed
}  // namespace sinew
