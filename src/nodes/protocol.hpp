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

/// Messages between the process that has children on other nodes (rank 0) and the agents there,
/// over one link each. Each message has a Head as it lies in memory: all run the same program on
/// one kind of machine.
enum class MessageKind : std::uint8_t {
    // to the agent
    start = process::kinds::supervisor,  ///< StartOrder
    tell,       ///< number: the kind; a message for the child's control link
    tell_bulk,  ///< the same, for its bulk link
    signal,     ///< number: of the signal
    hold,       ///< number: 1, hold its bulk link; 0: release it
    drop,       ///< the child's handle is gone
    granted,    ///< number: when the lease was asked for
    over,       ///< nobody needs the agent any more
    // to rank 0
    started,    ///< number: its pid
    said,       ///< number: the kind; a message of the child's control link
    said_bulk,  ///< the same, of its bulk link
    silent,     ///< number: 1, no sign of life; 0: heard again
    ended,      ///< ChildEnd
    renew,      ///< number: on the agent's clock, from when the lease counts
};
static_assert(static_cast<std::uint8_t>(MessageKind::renew) < process::kinds::supervisor_last);

struct Head {
    std::uint64_t child = 0;  ///< given by rank 0, never twice
    std::uint64_t number = 0;
};

/// Takes the head off the front. Nothing if there are too few bytes.
std::optional<Head> take_head(std::span<std::byte const>& bytes);
inline std::span<std::byte const> bytes_of(Head const& head) {
    return std::as_bytes(std::span(&head, 1));
}

/// Encodes the parts of a ChildSpec that the node does not decide.
std::vector<std::byte> encode_start(process::ChildSpec const& spec);
/// Throws DecodeError.
process::ChildSpec decode_start(std::span<std::byte const> bytes);
std::vector<std::byte> encode_end(process::ChildEnd const& end);
process::ChildEnd decode_end(std::span<std::byte const> bytes);

/// Children on a node may continue for so long without an answer of rank 0, and then end
/// themselves, since the network is cut or the agent is stopped. An agent asks every `renewal`.
constexpr auto lease = std::chrono::seconds(8);
constexpr auto renewal = std::chrono::milliseconds(500);

wire::LinkOptions link_options();
/// Closes the link: says goodbye, and destroys it when the other end has heard that, or does not
/// answer.
void close_in_order(std::unique_ptr<wire::Link> link);

}  // namespace sinew::nodes
