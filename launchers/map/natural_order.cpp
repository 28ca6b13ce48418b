// SPDX-License-Identifier: Apache-2.0
#include "launchers/map/natural_order.hpp"

#include <algorithm>

namespace sinew::launch {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int sign(int difference) { return (difference > 0) - (difference < 0); }

/// Takes the digits at the front of `text`, without leading zeros. They may exceed any integer.
std::string_view take_number(std::string_view& text) {
    auto const end = std::find_if_not(text.begin(), text.end(), is_digit);
    auto const length = static_cast<std::size_t>(end - text.begin());
    std::string_view digits = text.substr(0, length);
    text.remove_prefix(length);
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    return digits;
}

int compare_numbers(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
    return sign(a.compare(b));
}

}  // namespace

int compare_natural(std::string_view a, std::string_view b) {
    std::string_view left = a, right = b;
    while (!left.empty() && !right.empty()) {
        if (is_digit(left.front()) && is_digit(right.front())) {
            int const order = compare_numbers(take_number(left), take_number(right));
            if (order != 0) return order;
            continue;
        }
        if (left.front() != right.front())
            return static_cast<unsigned char>(left.front()) <
                           static_cast<unsigned char>(right.front())
                       ? -1
                       : 1;
        left.remove_prefix(1);
        right.remove_prefix(1);
    }
    if (left.empty() != right.empty()) return left.empty() ? -1 : 1;
    // Equal but for leading zeros: node007 sorts before node07, and that before node7.
    return sign(a.compare(b));
}

}  // namespace sinew::launch
