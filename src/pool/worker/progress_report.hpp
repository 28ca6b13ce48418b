// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace sinew::pool {

/// How far the executing thread has come in a batch, and how far it shall go: each task is either
/// begun or given back, never both, whenever the other thread decides to give tasks back.
///
/// Beginning a task costs two stores and a load. They are ordered against the other thread by
/// membarrier(2) on its side, which runs a barrier on every processor that executes this process;
/// if the kernel does not have it, the executing thread fences before each task.
class Progress {
public:
    Progress(std::uint32_t count, std::mutex& guard);

    /// Called by the executing thread for tasks in order. False: this task and all later ones are
    /// given back.
    bool begin(std::uint32_t offset) {
        if (fences_) [[unlikely]] {
            begun_.store(offset + 1);
            return offset < end_.load() || settled(offset);
        }
        begun_.store(offset + 1, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return offset < end_.load(std::memory_order_relaxed) || settled(offset);
    }

    /// Any thread, with the guard held: gives back what has not begun. Returns how many tasks are
    /// kept.
    std::uint32_t revoke();

    /// In a forked child, which shares nothing with the worker: it begins no task.
    void forget_all() { end_.store(0, std::memory_order_relaxed); }
    /// For tests: as if the kernel had no membarrier.
    void fence() { fences_ = true; }

private:
    bool settled(std::uint32_t offset);

    std::atomic<std::uint32_t> begun_{0};
    std::atomic<std::uint32_t> end_;  ///< while `revoke` decides: a guess, perhaps too low
    std::uint32_t limit_;             ///< what was decided; under the guard
    bool fences_;
    std::mutex& guard_;
};

}  // namespace sinew::pool
