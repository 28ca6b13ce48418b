// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "launchers/tree/fence.hpp"

// Messages of fences as bytes: numbers as LEB128, nodes as the distance from the one before, so
// that a part costs two bytes more than what is in it. `Down::children` do not travel.
namespace sinew::launch {

Bytes encode_up(FenceNode::Up const& up);
Bytes encode_down(FenceNode::Down const& down);

/// Nothing unless it is exactly one such message. Takes no more memory than a few times what is
/// there, whatever the bytes claim.
std::optional<FenceNode::Up> decode_up(std::span<std::byte const> bytes);
std::optional<FenceNode::Down> decode_down(std::span<std::byte const> bytes);

}  // namespace sinew::launch
