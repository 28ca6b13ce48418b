// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <sinew/detail/managed_handle.hpp>
#include <sinew/error.hpp>

namespace sinew {

/// A barrier at which not all arrived: one of them gave up, or is lost, or aborted it.
class BrokenBarrier : public Error {
public:
    using Error::Error;
};

namespace managed {

class Gathering;

/// The same as a Barrier. A wait that is cancelled when it has begun breaks it.
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

    /// A wait with a number of its own, which can be given up: that breaks the barrier.
    Reply<std::size_t> wait(std::uint64_t ticket) const;
    void give_up(std::uint64_t ticket) const;
    static std::uint64_t next_ticket();
};

/// Where as many as agreed wait for each other, again and again: threads, of any processes.
///
/// When a process is lost while it waits there, or gives up, the barrier is broken: who waits, and who
/// comes later, gets BrokenBarrier, until somebody resets it. Of one that is lost before it arrives
/// nothing is known here: where that may be, wait_for().
class Barrier : public Handle<Barrier, Gathering> {
public:
    explicit Barrier(Object<Gathering> object) : Handle(std::move(object)) {}
    static char const* kept() { return AsyncBarrier::kept(); }
    AsyncBarrier async() const { return AsyncBarrier(object()); }

    /// Until all are there. Of each another number, from 0; the last to arrive has the highest. Throws
    /// BrokenBarrier.
    std::size_t wait() const { return async().wait().get(); }
    /// Throws BrokenBarrier, also when the time is up: for all then.
    std::size_t wait_for(std::chrono::nanoseconds limit) const;
    /// Breaks it.
    void abort() const { async().abort().get(); }
    /// As new. Who waits gets BrokenBarrier.
    void reset() const { async().reset().get(); }
    std::size_t parties() const { return async().parties().get(); }
    std::size_t waiting() const { return async().waiting().get(); }
    bool broken() const { return async().broken().get(); }
};

}  // namespace managed
}  // namespace sinew
