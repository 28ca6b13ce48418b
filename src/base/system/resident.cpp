// SPDX-License-Identifier: Apache-2.0
#include "src/base/system/resident.hpp"

#include <unistd.h>

#include <array>
#include <charconv>

namespace sinew {

std::uint64_t resident_bytes(int statm) {
    std::array<char, 128> line;
    auto const size = ::pread(statm, line.data(), line.size(), 0);
    if (size <= 0) return 0;
    auto const* const end = line.data() + size;
    std::uint64_t pages = 0;
    auto const first = std::from_chars(line.data(), end, pages);
    if (first.ec != std::errc() || first.ptr == end) return 0;
    auto const second = std::from_chars(first.ptr + 1, end, pages);
    if (second.ec != std::errc()) return 0;
    return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace sinew
