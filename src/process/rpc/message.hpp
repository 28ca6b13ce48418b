// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/base/bytes.hpp"
#include "src/base/growing_buffer.hpp"
#include "src/process/resources/memory_budget.hpp"
#include "src/process/runtime.hpp"

namespace sinew::process {

/// Which service of the receiver handles a message.
enum class ServiceId : std::uint16_t { messenger, queue, pipe, share, manager };

/// The head of each message, sent as it lies in memory: all processes of a session run the same
/// program on machines of one byte order, which is checked when they join.
struct MessageHeader {
    ServiceId service = ServiceId::messenger;
    std::uint16_t op = 0;      ///< operation of the service
    std::uint32_t epoch = 0;   ///< incarnation of the receiver, if it can be restarted
    std::uint64_t id = 0;      ///< of the queue, pipe or shared object
    std::uint64_t number = 0;  ///< of the operation: a call, a position in a sequence
    std::uint64_t size = 0;    ///< of the payload that follows, in bytes
};

/// A message that has arrived.
struct Message {
    MessageHeader head;
    std::span<std::byte const> bytes;
    /// Keeps `bytes` alive. If null, they are valid during the call only.
    std::shared_ptr<void const> keeper;
};

/// Kinds of frames: several small messages share a frame; a large message is sent in pieces.
namespace frame_kind {
constexpr std::uint8_t messages = kinds::queue, begin = kinds::queue + 1, piece = kinds::queue + 2,
                       abort = kinds::queue + 3;
}  // namespace frame_kind

/// Messages above this size are sent in pieces, between which other messages are sent.
inline constexpr std::size_t small_message = std::size_t{64} << 10;
inline constexpr std::size_t piece_size = std::size_t{1} << 20;
/// Upper limit of the frames of messages and pieces. Every process must accept frames of this size.
inline constexpr std::size_t largest_message_frame = 2 * piece_size;

/// Takes the next message of a frame. Returns nothing at the end, or if it is not a message.
std::optional<Message> take_message(std::span<std::byte const>& frame);

/// Puts messages together that arrive in pieces.
class Assembler {
public:
    /// `budget` limits the memory for one sender. Null: there is no limit.
    explicit Assembler(std::shared_ptr<MemoryBudget> budget = nullptr)
        : budget_(std::move(budget)) {}
    /// Handle the frames `frame_kind::begin` and `piece`. `begin` returns false if the head is
    /// invalid or the message could never fit into the budget. `piece` returns the message when it
    /// is complete; if there is no memory for a piece, it drops the message and throws
    /// std::bad_alloc.
    bool begin(std::span<std::byte const> payload);
    std::optional<Message> piece(std::span<std::byte const> payload);
    void abort(std::span<std::byte const> payload);

private:
    struct Arriving {
        MessageHeader head;
        Reservation reserved;
        GrowingBuffer payload{};
    };
    std::shared_ptr<MemoryBudget> const budget_;
    std::unordered_map<std::uint64_t, Arriving> arriving_;  ///< by number of the transfer
};

/// The numbers from first to last.
struct NumberRange {
    std::uint64_t first = 0, last = 0;
};
/// Appends a number; extends the last range if the number continues it.
void add_to(std::vector<NumberRange>& ranges, std::uint64_t number);
/// Decodes as many ranges as are complete.
std::vector<NumberRange> take_ranges(std::span<std::byte const> bytes);

}  // namespace sinew::process
