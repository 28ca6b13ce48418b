// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace sinew::detail {

/// Names a group of ranks on the wire: the `sequence`th that its parent split with these members.
/// All members find the same name without a word; none is used twice.
struct GroupId {
    std::uint64_t family = 0;
    std::uint32_t sequence = 0;
    friend bool operator==(GroupId, GroupId) = default;
};

/// What precedes every payload on a connection between ranks. In the order of bytes of the machine:
/// ranks of another order are told apart when they connect.
struct Frame {
    enum class Kind : std::uint32_t {
        message,   ///< a message, whole; `bytes` follow
        announce,  ///< a message of `bytes` waits under `id`
        clear,     ///< receiver: send what waits under `id`
        data,      ///< `bytes` of the message `id` follow, the next ones
        drop,      ///< receiver: nobody wants what waits under `id`
        withdraw,  ///< sender: no more of `id`
        credit,    ///< receiver: `bytes` of the window are free again
        farewell,  ///< the rank leaves in order; nothing comes any more
    };
    Kind kind = Kind::farewell;
    std::int32_t tag = 0;
    GroupId group;
    std::uint64_t bytes = 0;
    std::uint64_t id = 0;
};

/// Longest message that is sent without asking.
inline constexpr std::size_t eager_bytes = std::size_t{128} << 10;
/// How much of messages that nobody asked for a rank may hold in another's memory; further ones,
/// also short ones, are announced only. (So memory is bounded by this per peer.)
inline constexpr std::size_t window_bytes = std::size_t{4} << 20;
/// A longer message leaves in such pieces, so that others are not kept waiting behind it.
inline constexpr std::size_t piece_bytes = std::size_t{1} << 20;
/// A message occupies some memory even if it has no bytes.
constexpr std::size_t window_cost(std::size_t bytes) { return bytes + 128; }

}  // namespace sinew::detail
