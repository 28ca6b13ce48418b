// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <sinew/communicator.hpp>

#include "benchmarks/support/machine/shared_page.hpp"

namespace sinew::bench {

/// A barrier between timed blocks that belongs to no contestant: a barrier of sinew's would warm
/// sinew's caches, and decide how far apart the ranks begin.
///
/// Each rank counts in a cache line of its own, which the others read, so that all leave about one
/// transfer of a line after the last has come. With `crowded` (more ranks than processors) a rank
/// that waits yields, then sleeps. While it waits long it lets the transport make progress, because
/// another rank may need that to finish its block.
class FlagBarrier {
public:
    /// The cache lines that it needs, from index `first` of the page on.
    static std::size_t lines(int ranks) { return static_cast<std::size_t>(ranks) + 1; }

    /// `page` must be everywhere, and outlive the barrier. Not collective.
    FlagBarrier(Communicator& comm, SharedPage const& page, std::size_t first, bool crowded);

    /// Waits for all ranks. Throws PeerLost if a rank has ended, and Timeout, with the ranks that
    /// did not come, after a minute: no timed block lasts so long.
    void wait();

private:
    struct alignas(SharedPage::line_bytes) Flag {
        std::atomic<std::uint64_t> count;
        std::atomic<std::uint32_t> bell;  ///< of the last line: changes whenever a rank has come
    };
    using Clock = std::chrono::steady_clock;

    Flag& flag(int rank) const { return flags_[rank]; }
    std::atomic<std::uint32_t>& bell() const { return flags_[ranks_].bell; }
    void wait_for(int rank, Clock::time_point& began);
    void pause(int rank, int look);
    void look_after_others(Clock::time_point& began);
    [[noreturn]] void complain() const;

    Communicator& comm_;
    int rank_, ranks_;
    bool crowded_;
    Flag* flags_;
    std::uint64_t count_ = 0;
};

}  // namespace sinew::bench
