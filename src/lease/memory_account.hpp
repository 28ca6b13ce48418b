// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "src/lease/locks/lock_file.hpp"

namespace sinew::lease {

/// The parts of the range that nobody else has locked, in rising order. Each byte of the host's
/// memory is a byte of the range: so the kernel keeps the account, and a dead holder has none.
std::vector<ByteRange> free_parts(LockFile const& file, ByteRange range);

std::uint64_t total(std::vector<ByteRange> const& parts);

/// The first parts of `free` that have `bytes` together: a single one if one has room for all.
std::vector<ByteRange> take_from(std::vector<ByteRange> const& free, std::uint64_t bytes);

}  // namespace sinew::lease
