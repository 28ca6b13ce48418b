// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "collectives/channel.hpp"
#include "src/comm/communicator_state.hpp"

namespace sinew::detail {

/// The settings that must be equal on all ranks, in a fixed size. The ranks exchange its bytes,
/// because launchers do not forward the environment to other hosts by default.
struct SettingsDigest {
    std::int64_t timeout_ns = 0;
    std::int64_t late_timeout_ns = 0;
    std::uint64_t algorithms_hash = 0;
    std::uint32_t algorithms_bytes = 0;
    std::uint8_t check = 0;
    std::uint8_t calibrate = 0;
    std::uint8_t node_memory = 0;
    std::uint8_t timeline = 0;
    std::uint8_t tune = 0;
    std::uint8_t domains = 0;
    std::array<std::uint8_t, 6> unused{};  ///< so that no byte is sent that was not set

    static SettingsDigest of(CommonSettings const& settings);
    friend bool operator==(SettingsDigest const&, SettingsDigest const&) = default;
};

static_assert(std::has_unique_object_representations_v<SettingsDigest>);

/// Replaces this rank's settings by those of rank 0. Collective; all ranks pass the digests of all
/// ranks, by rank, so that rank 0 sends its algorithms only if a rank has others. If the settings
/// differ, logs a warning with both values, once per process; `self` names this rank in it.
void adopt_settings(collectives::Channel& channel, std::span<SettingsDigest const> by_rank,
                    CommonSettings& own, std::string const& self);

}  // namespace sinew::detail
