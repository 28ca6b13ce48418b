// SPDX-License-Identifier: Apache-2.0
#include "src/lease/locks/layout.hpp"

#include "src/base/sha256.hpp"

namespace sinew::lease::layout {

ByteRange gpu_uuid(std::string const& uuid) {
    Sha256 hash;
    hash.add(uuid.data(), uuid.size());
    auto const digest = hash.digest();
    std::int64_t position = 0;
    for (std::size_t i = 0; i < sizeof position; ++i)
        position = (position << 8 | std::to_integer<std::int64_t>(digest[i])) &
                   ((std::int64_t{1} << 60) - 1);
    return byte((std::int64_t{1} << 60) + position);
}

}  // namespace sinew::lease::layout
