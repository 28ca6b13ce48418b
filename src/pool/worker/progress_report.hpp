// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace sinew::pool {

/// How far the executing thread has come with a batch, and how far it shall go: a task is either
/// begun or given back, never both, whenever the other thread decides to give back.
///
/// Beginning a task costs two stores and a load. What orders them against the other thread is
/// membarrier(2) on its side, which runs a barrier on every processor that executes this process;
/// where the kernel does not have it, the executing thread fences before each task.
class Progress {
public:
    Progress(std::uint32_t count, std::mutex& guard);

    /// The executing thread: tasks in order. False: this one and all later are given back.
    bool begin(std::uint32_t offset) {
        if (fences_) [[unlikely]] {
            begun_.store(offset + 1);
            return offset < end_.load() || settled(offset);
        }
        begun_.store(offset + 1, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return offset < end_.load(std::memory_order_relaxed) || settled(offset);
    }

    /// Any thread, with the guard held: gives back what has not begun. Returns how many are kept.
    std::uint32_t revoke();

    /// In a forked child, which shares nothing with us: it begins no task.
    void forget_all() { end_.store(0, std::memory_order_relaxed); }
    /// For tests: as where the kernel has no membarrier.
    void fence() { fences_ = true; }

private:
    bool settled(std::uint32_t offset);

    std::atomic<std::uint32_t> begun_{0};
    std::atomic<std::uint32_t> end_;  ///< while `revoke` decides: a guess, too low perhaps
    std::uint32_t limit_;             ///< what was decided; under the guard
    bool fences_;
    std::mutex& guard_;
};

}  // namespace sinew::pool
