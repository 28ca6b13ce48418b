// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>

namespace sinew::node_memory {

/// Wakes ranks that sleep until memory changes: a futex in memory that several processes share.
///
/// The writer publishes its word first and then calls `ring`, which is a load as long as nobody
/// sleeps. There is no fence between the two, because it would cost every call; so a wake-up can be
/// lost in the nanoseconds between the two, and every sleep is short.
class Doorbell {
public:
    /// Wakes all sleepers, if there are any. Lock-free, never blocks.
    [[gnu::always_inline]] void ring() {
        if (asleep_.load(std::memory_order_relaxed) != 0) [[unlikely]]
            wake();
    }

    /// Sleeps until `ring` or for `longest`. Returns at once if `ready()` is true by then.
    template <class Ready>
    void sleep(Ready const& ready, std::chrono::nanoseconds longest) {
        std::uint32_t const seen = changes_.load(std::memory_order_acquire);
        asleep_.store(1, std::memory_order_seq_cst);
        if (ready()) return;
        std::timespec const limit{.tv_sec = longest.count() / 1'000'000'000,
                                  .tv_nsec = longest.count() % 1'000'000'000};
        ::syscall(SYS_futex, &changes_, FUTEX_WAIT, seen, &limit, nullptr, 0);
    }

private:
    void wake() {
        // Of several ranks that ring at once, one makes the system call. A rank that says after this
        // store that it falls asleep reads the new number of changes, or does not fall asleep.
        asleep_.store(0, std::memory_order_relaxed);
        changes_.fetch_add(1, std::memory_order_release);
        ::syscall(SYS_futex, &changes_, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
    }

    alignas(128) std::atomic<std::uint32_t> changes_{0};
    // 1 if a rank may have fallen asleep since the latest ring. It is written only where a rank
    // sleeps, so that it otherwise stays valid in the caches of those who ring.
    alignas(128) std::atomic<std::uint32_t> asleep_{0};
};

}  // namespace sinew::node_memory
