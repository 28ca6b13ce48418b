// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/process/resources/memory_budget.hpp"
#include "src/process/runtime.hpp"

namespace sinew::process {

/// Who sorts a message out at its receiver.
enum class ServiceId : std::uint16_t { messenger, queue, pipe, share, manager };

/// What stands before the bytes of a message. As it lies in memory: processes of a session run the same
/// program on machines of one byte order, which is seen to when they join.
struct MessageHeader {
    ServiceId service = ServiceId::messenger;
    std::uint16_t op = 0;      ///< the service's
    std::uint32_t epoch = 0;   ///< of whom it is meant for, where that may have begun anew
    std::uint64_t id = 0;      ///< of the queue, pipe, shared object
    std::uint64_t number = 0;  ///< the operation's: a call, a place in a row
    std::uint64_t size = 0;    ///< of the bytes that follow
};

/// A message as it arrives.
struct Message {
    MessageHeader head;
    std::span<std::byte const> bytes;
    /// Keeps the bytes; null: they are valid during the call only.
    std::shared_ptr<void const> keeper;
};

/// Kinds of frames: small messages go several in a frame, large ones in pieces.
namespace frame_kind {
constexpr std::uint8_t messages = kinds::queue, begin = kinds::queue + 1, piece = kinds::queue + 2,
                       abort = kinds::queue + 3;
}  // namespace frame_kind

/// Letters above this travel in pieces, between which others have their turn.
inline constexpr std::size_t small_message = std::size_t{64} << 10;
inline constexpr std::size_t piece_size = std::size_t{1} << 20;
/// No frame of messages or pieces is longer, nor shall anybody take only shorter ones.
inline constexpr std::size_t largest_message_frame = 2 * piece_size;

template <class Value>
std::span<std::byte const> bytes_of(Value const& value) {
    return std::as_bytes(std::span(&value, 1));
}

/// Takes a value off the front; nothing when the bytes are too few.
template <class Value>
std::optional<Value> take_value(std::span<std::byte const>& bytes) {
    if (bytes.size() < sizeof(Value)) return std::nullopt;
    Value value;
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes = bytes.subspan(sizeof value);
    return value;
}

/// The next message of a frame; nothing at its end, or where the bytes are none.
std::optional<Message> take_message(std::span<std::byte const>& frame);

/// Letters that arrive in pieces.
class Assembler {
public:
    /// `budget`: of who sends them; null: there is no limit.
    explicit Assembler(std::shared_ptr<MemoryBudget> budget = nullptr)
        : budget_(std::move(budget)) {}
    /// What `frame_kind::begin` and `piece` carry. A message when it is whole. `begin` is false where
    /// that makes no sense, or could never fit into the budget. Where there is no memory for a piece,
    /// the message is forgotten, and std::bad_alloc thrown.
    bool begin(std::span<std::byte const> payload);
    std::optional<Message> piece(std::span<std::byte const> payload);
    void abort(std::span<std::byte const> payload);

private:
    struct Free {
        void operator()(std::byte* bytes) const { std::free(bytes); }
    };
    struct Arriving {
        void grow(std::size_t wanted, std::shared_ptr<MemoryBudget> const& budget);
        MessageHeader head;
        std::unique_ptr<std::byte, Free> bytes;
        std::size_t arrived = 0, capacity = 0;
        Reservation reserved{};
    };
    std::shared_ptr<MemoryBudget> const budget_;
    std::unordered_map<std::uint64_t, Arriving> arriving_;  ///< by transfer
};

/// Numbers first to last.
struct NumberRange {
    std::uint64_t first = 0, last = 0;
};
/// Appends a number, to the last range where it continues that.
void add_to(std::vector<NumberRange>& ranges, std::uint64_t number);
/// As many as are whole.
std::vector<NumberRange> take_ranges(std::span<std::byte const> bytes);

}  // namespace sinew::process
