// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/process/child/start_child.hpp"

namespace sinew::nodes {

/// What the process that has children on other nodes (rank 0) and the agents there say to each other,
/// over one link each. Each word has a Head, as it lies in memory: all run the same program on one
/// kind of machine.
enum class MessageKind : std::uint8_t {
    // to the agent
    start = process::kinds::supervisor,  ///< StartOrder
    tell,       ///< number: the kind; what the child hears on its control link
    tell_bulk,  ///< the same, on the other
    signal,     ///< number: which
    hold,       ///< number: 1, its bulk link waits; 0: no more
    drop,       ///< nobody asks for it any more
    granted,    ///< number: when the lease was asked for
    over,       ///< nobody needs the agent any more
    // to rank 0
    started,    ///< number: its pid
    said,       ///< number: the kind; what the child says on its control link
    said_bulk,  ///< the same, on the other
    silent,     ///< number: 1, no sign of life; 0: again
    ended,      ///< ChildEnd
    renew,      ///< number: on the agent's clock, from when on the lease counts
};
static_assert(static_cast<std::uint8_t>(MessageKind::renew) < process::kinds::supervisor_last);

struct Head {
    std::uint64_t child = 0;  ///< a number that rank 0 gives, and never twice
    std::uint64_t number = 0;
};

/// Takes the head off the front; nothing where the bytes are too few.
std::optional<Head> take_head(std::span<std::byte const>& bytes);
inline std::span<std::byte const> bytes_of(Head const& head) {
    return std::as_bytes(std::span(&head, 1));
}

/// Of a ChildSpec, what its place does not decide.
std::vector<std::byte> encode_start(process::ChildSpec const& spec);
/// Throws DecodeError.
process::ChildSpec decode_start(std::span<std::byte const> bytes);
std::vector<std::byte> encode_end(process::ChildEnd const& end);
process::ChildEnd decode_end(std::span<std::byte const> bytes);

/// Children there may go on without a word of rank 0 for so long, and end themselves then: where the
/// network is cut, or the agent stopped. An agent asks every `renewal`.
constexpr auto lease = std::chrono::seconds(8);
constexpr auto renewal = std::chrono::milliseconds(500);

wire::LinkOptions link_options();
/// Says farewell, and goes when the other end has heard it, or does not answer.
void close_in_order(std::unique_ptr<wire::Link> link);

}  // namespace sinew::nodes
