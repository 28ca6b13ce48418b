// SPDX-License-Identifier: Apache-2.0
//
// For any contents of a world file, the parser returns a world that is written the same way, or
// throws UsageError.
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
        // Numbers and addresses have several spellings; the written form is a fixed point.
        auto const text = file.text();
        if (sinew::WorldFile::parse(text).text() != text) std::abort();
    } catch (sinew::UsageError const&) {}
    return 0;
}
