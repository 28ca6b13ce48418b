// SPDX-License-Identifier: Apache-2.0
//
// Whatever a world file holds, the parser gives a world that writes itself the same way, or a
// UsageError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <sinew/error.hpp>

#include "src/world/world_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view const input(reinterpret_cast<char const*>(data), size);
    try {
        auto const file = sinew::WorldFile::parse(input);
        if (file.nodes.empty() || file.ranks.empty()) std::abort();
        for (auto const& rank : file.ranks)
            if (static_cast<std::size_t>(rank.node) >= file.nodes.size()) std::abort();
        // Numbers and addresses may be spelled in several ways; what is written is a fixed point.
        auto const text = file.text();
        if (sinew::WorldFile::parse(text).text() != text) std::abort();
    } catch (sinew::UsageError const&) {}
    return 0;
}
