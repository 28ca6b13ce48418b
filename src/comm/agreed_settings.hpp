// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "collectives/channel.hpp"
#include "src/comm/communicator_state.hpp"

namespace sinew::detail {

/// The settings that must be equal on all ranks, in a fixed size. Plain bytes, to be sent to other
/// ranks: launchers do not carry the environment to other hosts by themselves.
struct SettingsDigest {
    std::int64_t timeout_ns = 0;
    std::int64_t late_timeout_ns = 0;
    std::uint64_t algorithms_hash = 0;
    std::uint32_t algorithms_bytes = 0;
    std::uint8_t check = 0;
    std::uint8_t calibrate = 0;
    std::uint8_t reserved[2] = {};

    static SettingsDigest of(CommonSettings const& settings);
    friend bool operator==(SettingsDigest const&, SettingsDigest const&) = default;
};

/// Makes rank 0's settings this rank's. Collective: all pass the digests of all ranks, by rank, so
/// that rank 0 sends its text only if some rank has another. Where this rank's own settings differ,
/// it warns, with both values, `self` being the rank in words; once in a process.
void adopt_settings(collectives::Channel& channel, std::span<SettingsDigest const> by_rank,
                    CommonSettings& own, std::string const& self);

}  // namespace sinew::detail
