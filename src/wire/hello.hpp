// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/wire/link.hpp"
#include "src/wire/tls/secret.hpp"

namespace sinew::wire {

inline constexpr std::uint16_t protocol_version = 2;
/// Limit of frames before the other end has proved itself.
inline constexpr std::size_t handshake_limit = std::size_t{64} << 10;

/// The first frame of either side: version, job, identity, limits.
struct Hello {
    using Mark = std::array<std::byte, 32>;
    std::uint16_t version = protocol_version;
    Mark mark{};  ///< of the job: derived from its secret
    Identity self;
    std::uint64_t max_frame = 0;

    std::string encode() const;
    /// Nothing: it is not a hello. Of a hello of another version only the version is read.
    static std::optional<Hello> decode(std::span<std::byte const> payload);
    /// A value derived from the job's secret, which a peer that has proved itself may see.
    static Mark mark_of(Secret const& secret);
};

/// Makes text of a peer safe for messages and logs: no line breaks, no escape sequences.
std::string printable(std::string_view text);

}  // namespace sinew::wire
