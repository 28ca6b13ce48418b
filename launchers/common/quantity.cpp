// SPDX-License-Identifier: Apache-2.0
#include "launchers/common/quantity.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace sinew::launch {

double amount_of(std::string_view quantity) {
    constexpr std::array<std::pair<std::string_view, double>, 12> units{
        {{"", 1},
         {"m", 1e-3},
         {"k", 1e3},
         {"M", 1e6},
         {"G", 1e9},
         {"T", 1e12},
         {"P", 1e15},
         {"Ki", 1024.0},
         {"Mi", 1048576.0},
         {"Gi", 1073741824.0},
         {"Ti", 1099511627776.0},
         {"Pi", 1125899906842624.0}}};
    double number = 0;
    auto const* const end = quantity.data() + quantity.size();
    auto const parsed = std::from_chars(quantity.data(), end, number, std::chars_format::fixed);
    if (parsed.ec != std::errc() || number < 0) return 0;
    std::string_view const unit(parsed.ptr, static_cast<std::size_t>(end - parsed.ptr));
    for (auto const& [name, factor] : units)
        if (unit == name) return number * factor;
    return 0;
}

}  // namespace sinew::launch
