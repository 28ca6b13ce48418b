// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/comm/black_box/operation_record.hpp"
#include "src/comm/black_box/timeline_recorder.hpp"

namespace sinew::detail {

/// The last collective operations of a communicator: up to 4,096 of them, of 32 bytes each. It grows
/// with its use, because a program may have thousands of communicators. One thread at a time enters
/// and leaves operations; any thread, and a signal handler, may read.
class OperationLog {
public:
    static constexpr std::size_t most = 4096;
    /// Of short calls one in so many records its time: to read the clock takes longer than a
    /// hundredth of such a call.
    static constexpr std::uint64_t calls_per_clock = 64;

    /// `name` is the same on all ranks: "world", or that of the communicator that was split with the
    /// number of the split and the color. `hosts` are those of the ranks.
    OperationLog(std::string name, int rank, std::vector<std::string> hosts);
    OperationLog(OperationLog const&) = delete;
    OperationLog& operator=(OperationLog const&) = delete;
    ~OperationLog();

    std::string const& name() const { return name_; }
    int rank() const { return rank_; }
    int size() const { return static_cast<int>(hosts_.size()); }
    std::vector<std::string> const& hosts() const { return hosts_; }

    /// Records that this rank enters an operation, whose number it returns. `record` has no number yet.
    /// Reads no clock: the caller may set `entered`. The only calls on the fast path are this one and
    /// `leave`.
    [[gnu::always_inline]] std::uint64_t enter(OperationRecord const& record) noexcept {
        std::uint64_t const sequence = sequence_ + 1;
        if (sequence > capacity_ && capacity_ < most) [[unlikely]]
            grow();
        Slot& slot = slots_.load(std::memory_order_relaxed)[sequence & (capacity_ - 1)];
        // A reader that sees the number of an older operation behind the new words drops them.
        slot[0].store(pack_call(sequence, record), std::memory_order_relaxed);
        slot[1].store(pack_count(record), std::memory_order_relaxed);
        slot[2].store(static_cast<std::uint64_t>(record.entered), std::memory_order_relaxed);
        slot[3].store(0, std::memory_order_relaxed);
        sequence_ = sequence;
        state_.store(sequence << 1 | 1, std::memory_order_release);
        if (recorder_ != nullptr) [[unlikely]]
            note_wait();
        return sequence;
    }
    /// Sets the time at which the current operation was entered, if it is unknown: called when it waits for long.
    void note_wait() noexcept;
    /// Records that this rank has left the current operation. `with_time`: reads the clock.
    [[gnu::always_inline]] void leave(bool with_time = false) noexcept {
        if (with_time) current()[3].store(now(), std::memory_order_relaxed);
        if (recorder_ != nullptr) [[unlikely]]
            record(sequence_);
        state_.store(sequence_ << 1, std::memory_order_release);
    }

    /// Records the operation in the timeline, if there is one, as ending now; `leave` does that for the
    /// last one.
    void record(std::uint64_t sequence) const noexcept;
    /// From now on, operations are also recorded in a timeline; null: no longer. Not during a call.
    void set_recorder(std::shared_ptr<TimelineRecorder> recorder) noexcept {
        recorder_ = std::move(recorder);
    }
    std::shared_ptr<TimelineRecorder> const& recorder() const noexcept { return recorder_; }

    /// The number of the last operation entered, 0 before the first, and whether it is in it. Any thread.
    std::uint64_t entered() const noexcept { return state_.load(std::memory_order_acquire) >> 1; }
    bool inside() const noexcept { return (state_.load(std::memory_order_acquire) & 1) != 0; }
    /// The record of an operation, if it is kept still. Any thread; may be called in a signal handler.
    std::optional<OperationRecord> at(std::uint64_t sequence) const noexcept;

    static std::uint64_t now() noexcept {
        return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                              std::chrono::steady_clock::now().time_since_epoch())
                                              .count());
    }

private:
    using Slot = std::array<std::atomic<std::uint64_t>, 4>;
    std::shared_ptr<TimelineRecorder> recorder_;  ///< usually null
    static constexpr std::size_t first_slots = 64;
    static constexpr int sequence_shift = 24, root_shift = 40, device_shift = 63;

    /// 40 bits of the number, then 8 each of collective, type and operation.
    static std::uint64_t pack_call(std::uint64_t sequence, OperationRecord const& record) noexcept {
        return sequence << sequence_shift | static_cast<std::uint64_t>(record.collective) << 16 |
               static_cast<std::uint64_t>(record.type) << 8 | record.op;
    }
    /// Whether the memory is a device's, 23 bits of the root + 1, 40 bits of the count.
    static std::uint64_t pack_count(OperationRecord const& record) noexcept {
        constexpr std::uint64_t largest = (std::uint64_t{1} << root_shift) - 1;
        return static_cast<std::uint64_t>(record.device) << device_shift |
               static_cast<std::uint64_t>(record.root + 1) << root_shift |
               (record.count < largest ? record.count : largest);
    }
    Slot& current() noexcept {
        return slots_.load(std::memory_order_relaxed)[sequence_ & (capacity_ - 1)];
    }
    void grow() noexcept;

    std::string name_;
    int rank_;
    std::vector<std::string> hosts_;
    std::uint64_t sequence_ = 0;
    std::size_t capacity_;
    std::atomic<Slot*> slots_;
    std::atomic<std::size_t> slot_count_;  // of slots_: never more
    std::atomic<std::uint64_t> state_{0};  // the number of the last operation, and whether inside
    // All arrays, freed at the end, because a reader may look at an old one. In sum they are as long as the last.
    std::array<Slot*, std::bit_width(most / first_slots)> arrays_{};
};

}  // namespace sinew::detail
