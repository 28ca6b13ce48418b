// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace sinew::launch {

/// Compares texts with runs of digits as numbers (node2 < node10), and returns -1, 0 or 1. A total
/// order: 0 only for equal texts; of equal numbers, those with more leading zeros come first.
int compare_natural(std::string_view a, std::string_view b);

struct NaturalLess {
    bool operator()(std::string_view a, std::string_view b) const {
        return compare_natural(a, b) < 0;
    }
};

}  // namespace sinew::launch
