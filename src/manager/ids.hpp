// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sinew::manager {

/// Identifies a calling process at its manager.
using Client = std::uint64_t;
/// An object of one manager. 0 is none.
using ObjectId = std::uint64_t;

}  // namespace sinew::manager
