// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

#include <sinew/communicator.hpp>

namespace sinew::sgd {

/// A hash of what must be equal on all ranks before parameters can be copied.
std::uint64_t hash_of_shapes(std::span<Buffer const> parameters, int root);

/// Copies the root's parameters to all ranks, and compares a hash of their contents. Collective.
/// Throws UsageError on all ranks if there is no such root or a buffer is null, and Error if
/// contents differ afterwards; they name the caller. Requires: equal shapes.
void copy_from_root(Communicator& comm, std::span<Buffer const> parameters, int root,
                    std::chrono::nanoseconds timeout, std::string_view caller);

}  // namespace sinew::sgd
