// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "launchers/tree/fence.hpp"

// Encodes messages of fences: numbers as LEB128, nodes as the distance from the one before, so that
// a part takes two bytes more than its contents. `Down::children` is not encoded.
namespace sinew::launch {

Bytes encode_up(FenceNode::Up const& up);
Bytes encode_down(FenceNode::Down const& down);

/// Returns nullopt unless `bytes` are exactly one such message. Takes no more memory than a few
/// times their size, whatever lengths they claim.
std::optional<FenceNode::Up> decode_up(std::span<std::byte const> bytes);
std::optional<FenceNode::Down> decode_down(std::span<std::byte const> bytes);

}  // namespace sinew::launch
