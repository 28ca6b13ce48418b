// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/text.hpp"

#include <algorithm>
#include <iomanip>
#include <numeric>

namespace sinew::bench {

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            std::size_t const replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row.back();
}

}  // namespace

std::string fixed(double value, int digits) {
    std::ostringstream out;
    out << std::fixed << std::setprecision(digits) << value;
    return std::move(out).str();
}

std::vector<std::string> split(std::string_view list, char separator) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0;;) {
        std::size_t const end = list.find(separator, begin);
        parts.emplace_back(list.substr(begin, end - begin));
        if (end == std::string_view::npos) return parts;
        begin = end + 1;
    }
}

std::string join(std::vector<std::string> const& parts, std::string_view separator) {
    std::string joined;
    for (std::string const& part : parts) {
        if (!joined.empty()) joined += separator;
        joined += part;
    }
    return joined;
}

std::string nearest(std::string_view word, std::vector<std::string> const& candidates) {
    auto const closer = [&](std::string const& a, std::string const& b) {
        return edit_distance(word, a) < edit_distance(word, b);
    };
    auto const found = std::min_element(candidates.begin(), candidates.end(), closer);
    return found == candidates.end() ? std::string() : *found;
}

}  // namespace sinew::bench
