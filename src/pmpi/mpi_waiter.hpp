// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "src/node_memory/waiter.hpp"
#include "src/pmpi/comm_route.hpp"

namespace sinew::pmpi {

/// How a rank waits for another one inside a call of MPI: it looks, yields, then sleeps. Meanwhile
/// MPI makes progress, since the other rank may be in a call that needs this one, such as the send
/// of a long message. There is no deadline unless SINEW_TIMEOUT asks for one, as MPI has none.
class MpiWaiter final : public node_memory::Waiter {
public:
    enum class Thread : std::uint8_t {
        of_program,
        of_library,  ///< calls no MPI, leaves the processor to others soon, and has no deadline
    };
    explicit MpiWaiter(CommRoute const& route, Thread thread = Thread::of_program)
        : route_(route), of_library_(thread == Thread::of_library) {}
    int spins() const override { return crowded() ? 4 : 2000; }
    int yields() const override { return crowded() ? 3 : 0; }
    /// Throws PeerLost if a rank of the communicator has ended, and Timeout.
    std::chrono::nanoseconds idle(int round, int peer) override;

    /// Called by a program's thread that only looks now and then: throws PeerLost as idle() does.
    void look_between_tests();

private:
    using Clock = std::chrono::steady_clock;
    bool crowded() const { return of_library_ || route_.job == nullptr || route_.job->crowded(); }
    void look_around(Clock::time_point now, int peer);
    void look_for_ended();

    CommRoute const& route_;
    bool const of_library_;
    Clock::time_point begin_{}, next_look_{};
    int tests_ = 0;
    int lost_ = -1;  // a rank that had ended at the last look
};

}  // namespace sinew::pmpi
