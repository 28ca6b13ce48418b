// SPDX-License-Identifier: Apache-2.0
#include "src/comm/black_box/operation_log.hpp"

#include <algorithm>
#include <new>

#include "src/base/text.hpp"
#include "src/comm/black_box/black_box.hpp"

namespace sinew::detail {

std::string OperationRecord::text() const {
    std::string what = sinew::text(name(collective), '(');
    if (collective != Collective::barrier) {
        // The size of an opaque type is not kept.
        what += type == DataType::Kind::opaque ? "opaque" : DataType(type).name();
        if (count > 0) what += sinew::text(" x ", count);
        if (device) what += " on a GPU";
    }
    if (op != no_op) what += ", " + ReduceOp(static_cast<ReduceOp::Kind>(op)).name();
    if (root >= 0) what += sinew::text(", root ", root);
    return what + ')';
}

OperationLog::OperationLog(std::string name, int rank, std::vector<std::string> hosts)
    : name_(std::move(name)), rank_(rank), hosts_(std::move(hosts)), capacity_(first_slots),
      slots_(new Slot[first_slots]()), slot_count_(first_slots) {
    arrays_[0] = slots_.load();
    BlackBox::instance().add(*this);
}

OperationLog::~OperationLog() {
    BlackBox::instance().remove(*this);
    for (Slot* array : arrays_) delete[] array;
}

/// Without memory the log stays as long as it is.
void OperationLog::grow() noexcept {
    std::size_t const larger = capacity_ * 2;
    Slot* const old = slots_.load(std::memory_order_relaxed);
    Slot* const array = new (std::nothrow) Slot[larger]();
    if (array == nullptr) return;
    for (std::uint64_t sequence = 1; sequence <= sequence_; ++sequence) {
        if (sequence + capacity_ <= sequence_) continue;
        for (std::size_t word = 0; word < 4; ++word)
            array[sequence & (larger - 1)][word].store(
                old[sequence & (capacity_ - 1)][word].load(std::memory_order_relaxed),
                std::memory_order_relaxed);
    }
    *std::find(arrays_.begin(), arrays_.end(), nullptr) = array;
    // In this order, and read in the other: a reader never uses more slots than the array has.
    slots_.store(array, std::memory_order_release);
    slot_count_.store(larger, std::memory_order_release);
    capacity_ = larger;
}

void OperationLog::note_wait() noexcept {
    auto& entered = current()[2];
    if (entered.load(std::memory_order_relaxed) == 0)
        entered.store(now(), std::memory_order_relaxed);
}

void OperationLog::record(std::uint64_t sequence) const noexcept {
    if (recorder_ == nullptr) return;
    auto const now_ns = static_cast<std::int64_t>(now());
    try {
        if (auto const operation = at(sequence))
            recorder_->add(name_, operation->text(),
                           operation->entered == 0 ? now_ns : operation->entered, now_ns);
    } catch (std::bad_alloc const&) {
        // The timeline lacks one event.
    }
}

std::optional<OperationRecord> OperationLog::at(std::uint64_t sequence) const noexcept {
    if (sequence == 0) return std::nullopt;
    std::size_t const count = slot_count_.load(std::memory_order_acquire);
    Slot const* const slots = slots_.load(std::memory_order_acquire);
    Slot const& slot = slots[sequence & (count - 1)];
    std::uint64_t const call = slot[0].load(std::memory_order_relaxed);
    constexpr std::uint64_t low = (std::uint64_t{1} << (64 - sequence_shift)) - 1;
    if (call >> sequence_shift != (sequence & low)) return std::nullopt;
    std::uint64_t const counts = slot[1].load(std::memory_order_relaxed);
    OperationRecord record;
    record.sequence = sequence;
    record.collective = static_cast<Collective>(call >> 16 & 0xff);
    record.type = static_cast<DataType::Kind>(call >> 8 & 0xff);
    record.op = static_cast<std::uint8_t>(call & 0xff);
    record.device = counts >> device_shift != 0;
    record.root = static_cast<std::int32_t>(counts >> root_shift & 0x7fffff) - 1;
    record.count = counts & ((std::uint64_t{1} << root_shift) - 1);
    record.entered = static_cast<std::int64_t>(slot[2].load(std::memory_order_relaxed));
    record.left = static_cast<std::int64_t>(slot[3].load(std::memory_order_relaxed));
    std::atomic_thread_fence(std::memory_order_acquire);
    // Another operation has taken the slot meanwhile.
    if (slot[0].load(std::memory_order_relaxed) != call) return std::nullopt;
    return record;
}

}  // namespace sinew::detail
