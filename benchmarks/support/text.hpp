// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace sinew::bench {

/// Joins anything printable into a string: text("rank ", rank, " of ", size).
template <class... Parts>
std::string text(Parts const&... parts) {
    std::ostringstream out;
    (out << ... << parts);
    return std::move(out).str();
}

/// Formats a number with so many digits after the point.
std::string fixed(double value, int digits);

/// Splits at separators and keeps empty parts, so that "8,,16" can be refused.
std::vector<std::string> split(std::string_view list, char separator);

/// Joins parts: "a, b, c".
std::string join(std::vector<std::string> const& parts, std::string_view separator = ", ");

/// Returns the candidate with the fewest insertions, deletions and replacements to `word`.
std::string nearest(std::string_view word, std::vector<std::string> const& candidates);

}  // namespace sinew::bench
