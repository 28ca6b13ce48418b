// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/flag_barrier.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>
#include <new>
#include <sinew/error.hpp>
#include <vector>

#include "benchmarks/support/machine/relax.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

constexpr auto longest_block = std::chrono::minutes(1);
/// Of crowded ranks: who has left the timed call must not keep the processor from one that is still in it.
constexpr int looks_before_yields = 4, looks_before_sleep = looks_before_yields + 32,
              looks_between_clocks = 4096;

/// Sleeps until the bell differs from `seen`, a millisecond at most.
void sleep_until_rung(std::atomic<std::uint32_t>& bell, std::uint32_t seen) {
    timespec const limit{.tv_sec = 0, .tv_nsec = 1'000'000};
    ::syscall(SYS_futex, &bell, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void ring(std::atomic<std::uint32_t>& bell) {
    bell.fetch_add(1, std::memory_order_release);
    ::syscall(SYS_futex, &bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

FlagBarrier::FlagBarrier(Communicator& comm, SharedPage const& page, std::size_t first,
                         bool crowded)
    : comm_(comm), rank_(comm.rank()), ranks_(comm.size()), crowded_(crowded),
      flags_(reinterpret_cast<Flag*>(page.line(first))) {}

void FlagBarrier::wait() {
    ++count_;
    flag(rank_).count.store(count_, std::memory_order_release);
    if (crowded_) ring(bell());
    auto began = Clock::time_point::max();  // the clock is read only in long waits
    for (int other = 0; other < ranks_; ++other)
        if (other != rank_) wait_for(other, began);
}

void FlagBarrier::wait_for(int rank, Clock::time_point& began) {
    for (int look = 1; flag(rank).count.load(std::memory_order_acquire) < count_; ++look) {
        pause(rank, look);
        bool const slept = crowded_ && look >= looks_before_sleep;
        if (slept || look % looks_between_clocks == 0) look_after_others(began);
    }
}

void FlagBarrier::pause(int rank, int look) {
    if (!crowded_ || look < looks_before_yields) return relax();
    if (look < looks_before_sleep) {
        ::sched_yield();
        return;
    }
    // The bell is read before the flag, so that a rank which comes in between is not missed.
    std::uint32_t const seen = bell().load(std::memory_order_acquire);
    if (flag(rank).count.load(std::memory_order_acquire) < count_) sleep_until_rung(bell(), seen);
}

void FlagBarrier::look_after_others(Clock::time_point& began) {
    Transport& transport = comm_.transport();
    static_cast<void>(transport.probe(any_source, transport.max_tag()));
    auto const lost = transport.lost();
    if (!lost.empty())
        throw PeerLost(text("rank ", lost.front(), " of ", ranks_,
                            " ended between two timed blocks. Its own messages say why"));
    auto const now = Clock::now();
    if (began == Clock::time_point::max()) began = now;
    if (now - began > longest_block) complain();
}

void FlagBarrier::complain() const {
    std::vector<std::string> missing;
    for (int other = 0; other < ranks_; ++other)
        if (flag(other).count.load(std::memory_order_acquire) < count_)
            missing.push_back(text(other));
    throw Timeout(text("rank ", rank_, " of ", ranks_, " waited for a minute between two timed ",
                       "blocks, and ranks ", join(missing),
                       " did not come. Do they hang in a peer? Leave that --peer out"));
}

}  // namespace sinew::bench
