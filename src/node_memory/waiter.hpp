// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <sinew/error.hpp>

#include "src/base/waiting/polling_pause.hpp"
#include "src/node_memory/doorbell.hpp"

namespace sinew::node_memory {

/// Decides how a rank waits for a word in memory that another rank will write.
class Waiter {
public:
    virtual ~Waiter() = default;
    /// Looks at the word before the first `idle`. Spinning helps only if a core is free.
    virtual int spins() const = 0;
    /// Times that the rank gives up its processor between the looks after these, before the first `idle`. Where ranks share
    /// processors, this is as a rule all that the peer needs, and costs half as much as `idle`. Instead of a yield that would take long
    /// (PollingPause) it sleeps for up to `longest_nap`, which no deadline ends.
    virtual int yields() const { return 0; }
    /// Called between further looks; `round` counts from 0 and `peer` is the index in the room of
    /// the rank that is waited for. Yields, lets other operations progress, checks the deadline and
    /// the peers. Throws Timeout or PeerLost. Returns how long the rank may then sleep until the
    /// room's doorbell rings; zero: not at all.
    virtual std::chrono::nanoseconds idle(int round, int peer) = 0;
    /// Called if the awaited rank makes another call at this point. Throws BackendError.
    [[noreturn]] virtual void refuse(int peer) {
        throw BackendError("rank " + std::to_string(peer) + " makes another call", 0);
    }
};

/// Tells the processor that this is a loop that waits.
inline void relax() {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Waits for some nanoseconds, and lets the processor begin nothing behind it before they are over. For a rank that has published something
/// and needs what another one publishes at the same moment, if it has nothing else to do: a look that just misses it costs more, because the
/// processor must drop all that it has begun behind the look, and then pauses for long (an allreduce of 8 B between two near cores of an AMD EPYC
/// took 84 ns instead of 62).
inline void wait_a_moment() {
#if defined(__x86_64__)
    constexpr int steps = 6;  // of 3 cycles as a rule
    std::uint64_t word = 3;
    for (int i = 0; i < steps; ++i) asm volatile("imul %0, %0" : "+r"(word));
    _mm_lfence();
#endif
}

/// Instead of a nap between two yields a rank sleeps until its peers wake it, and at most for so long, as a wake-up may be lost (see Doorbell).
/// To wake for nothing costs a rank the time by which the scheduler prefers it to a thread that computes: with 100 us, calls of 8 ranks
/// beside two such threads took five times as long.
inline constexpr std::chrono::microseconds longest_nap{500};

/// Waits until `ready()` is true.
template <class Ready>
void await(Waiter& waiter, Doorbell& bell, int peer, Ready const& ready) {
    if (ready()) return;
    for (int i = waiter.spins(); i > 0; --i) {
        relax();
        if (ready()) return;
    }
    for (int i = waiter.yields(); i > 0; --i) {
        if (ready()) return;
        if (!yield_between_polls()) bell.sleep(ready, longest_nap);
    }
    for (int round = 0; !ready(); ++round) {
        auto const longest = waiter.idle(round, peer);
        if (longest.count() > 0) bell.sleep(ready, longest);
    }
}

}  // namespace sinew::node_memory
