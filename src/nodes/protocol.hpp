// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/bytes.hpp"
#include "src/process/child/child.hpp"

namespace sinew::nodes {

/// Messages between the process that has children on other nodes (rank 0) and the agents there,
/// over one link each. Each message has a Head as it lies in memory: all run the same program on
/// one kind of machine.
enum class MessageKind : std::uint8_t {
    // to the agent
    start = process::kinds::supervisor,  ///< a ChildSpec
    to_control,  ///< number: the kind; a message for the child's control link
    to_bulk,     ///< the same, for its bulk link
    signal,      ///< number: of the signal
    hold,        ///< number: 1, hold its bulk link; 0: release it
    drop,        ///< the child's handle is gone
    granted,     ///< number: when the lease was asked for
    over,        ///< the agent is no longer needed
    // to rank 0
    started,       ///< number: its pid
    from_control,  ///< number: the kind; a message of the child's control link
    from_bulk,     ///< the same, of its bulk link
    acknowledged,  ///< number: bytes of `to_bulk` that the child's link took
    suspect,       ///< number: 1, the child is silent; 0: it responds again
    ended,         ///< an Ending
    renew,         ///< number: on the agent's clock, from when the lease counts
    leaving,       ///< the node is given back: its children are being killed, and no others start
};
/// The first messages of a link: an agent says who it is; that of an acquired node is answered.
constexpr std::uint8_t joined = process::kinds::supervisor_last;
constexpr std::uint8_t refused = joined - 1;  ///< a text: why
constexpr std::uint8_t welcome = joined - 2;
static_assert(static_cast<std::uint8_t>(MessageKind::leaving) < welcome);

struct Head {
    std::uint64_t child = 0;  ///< given by rank 0, never twice
    std::uint64_t number = 0;
};

/// Encodes the parts of a ChildSpec that the node does not decide.
std::vector<std::byte> encode_start(process::ChildSpec const& spec);
/// Throws DecodeError.
process::ChildSpec decode_start(std::span<std::byte const> bytes);

/// How a child ended, and the last state of its status page.
struct Ending {
    process::ChildEnd end;
    std::uint64_t running = ~std::uint64_t{0};
    std::uint64_t verdict = 0;
};
std::vector<std::byte> encode_ending(Ending const& ending);
/// Throws DecodeError.
Ending decode_ending(std::span<std::byte const> bytes);

/// Children on a node may continue for so long without an answer of rank 0, and then end
/// themselves, since the network is cut or the agent is stopped. An agent asks every `renewal`.
constexpr auto lease = std::chrono::seconds(8);
constexpr auto renewal = std::chrono::milliseconds(500);
/// Added by rank 0 before it takes the children of a lost node for dead: clocks differ in rate, and
/// children look at their lease every 250 ms.
constexpr auto lease_margin = std::chrono::seconds(1);

/// Bytes of one child's bulk messages that may be on their way at once, in either direction.
constexpr std::size_t bulk_window = std::size_t{4} << 20;

/// Options of these links: little data is queued, so that control messages are not delayed by it.
wire::LinkOptions link_options();
/// Closes the link in order; destroys it when the other end has confirmed or does not answer.
void close_in_order(std::unique_ptr<wire::Link> link);

}  // namespace sinew::nodes
