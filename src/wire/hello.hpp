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
/// The largest frame before the other end has proved itself.
inline constexpr std::size_t handshake_limit = std::size_t{64} << 10;

/// The first frame of either side: version, job, who it is, what it accepts.
struct Hello {
    using Mark = std::array<std::byte, 32>;
    std::uint16_t version = protocol_version;
    Mark mark{};  ///< of the job: derived from its secret
    Identity self;
    std::uint64_t max_frame = 0;

    std::string encode() const;
    /// Nothing: that is no hello. Of another version only the version is read.
    static std::optional<Hello> decode(std::span<std::byte const> payload);
    /// What of the job's secret is shown to a peer, which then has proved the same user or secret.
    static Mark mark_of(Secret const& secret);
};

/// Fit for messages and logs, wherever it comes from: no line breaks, no escape sequences.
std::string printable(std::string_view text);

}  // namespace sinew::wire
