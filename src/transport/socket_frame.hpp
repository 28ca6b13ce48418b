// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sinew::detail {

/// Names a group of ranks on the wire: the `sequence`th group with these members that was split
/// from the parent. All members compute the same name without a message; names are not reused.
struct GroupId {
    std::uint64_t family = 0;
    std::uint32_t sequence = 0;
    friend bool operator==(GroupId, GroupId) = default;
};

/// The header before every payload on a connection between ranks, in the machine's byte order. The
/// handshake refuses ranks with another byte order.
struct Frame {
    enum class Kind : std::uint32_t {
        message,   ///< a whole message; `bytes` follow
        announce,  ///< sender: the message `id` of `bytes` waits for a clear or drop
        clear,     ///< receiver: send the message `id`
        data,      ///< the next `bytes` of the message `id` follow
        drop,      ///< receiver: the message `id` is not wanted
        withdraw,  ///< sender: the message `id` was cancelled
        credit,    ///< receiver: `bytes` of the window are free again
        farewell,  ///< the rank leaves in order; this is its last frame
    };
    Kind kind = Kind::farewell;
    std::int32_t tag = 0;
    GroupId group;
    std::uint64_t bytes = 0;
    std::uint64_t id = 0;
};

/// Longest message that is sent eagerly, that is, without an announcement.
inline constexpr std::size_t eager_bytes = std::size_t{128} << 10;
/// Bytes of unconsumed eager messages that a rank may have at a peer. While they are used up, even
/// short messages are announced, which bounds a receiver's memory per peer.
inline constexpr std::size_t window_bytes = std::size_t{4} << 20;
/// A longer message is sent in pieces of this size, so that it does not delay others.
inline constexpr std::size_t piece_bytes = std::size_t{1} << 20;
/// Bytes of the window that a message uses: it occupies some memory even if it is empty.
constexpr std::size_t window_cost(std::size_t bytes) { return bytes + 128; }

}  // namespace sinew::detail
