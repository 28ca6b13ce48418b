// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/sizes.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <sinew/error.hpp>

#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

constexpr std::string_view how =
    "Write sizes as 8,1K,64K,16M or as a range of powers of two, 8-64M";

std::string lower(std::string word) {
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return word;
}

std::vector<std::size_t> powers_of_two(std::string const& from, std::string const& to) {
    std::size_t const first = parse_size(from), last = parse_size(to);
    if (first == 0 || first > last)
        throw UsageError(text("size range ", from, "-", to,
                              " (must begin above 0 and not end before its beginning). ", how));
    std::vector<std::size_t> sizes;
    for (std::size_t size = first;; size *= 2) {
        sizes.push_back(size);
        if (size > last / 2) return sizes;
    }
}

}  // namespace

std::size_t parse_size(std::string const& word) {
    std::size_t number = 0;
    auto const [rest, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    std::string const unit = lower(rest);
    unsigned shift = 0;
    if (unit == "k" || unit == "kib") shift = 10;
    else if (unit == "m" || unit == "mib") shift = 20;
    else if (unit == "g" || unit == "gib") shift = 30;
    else if (error != std::errc() || !(unit.empty() || unit == "b"))
        throw UsageError(text("size \"", word, "\" (not a number of bytes). ", how));
    if (error != std::errc() || number > std::numeric_limits<std::size_t>::max() >> (shift + 1))
        throw UsageError(
            text("size \"", word, "\" (not a number of bytes a buffer can have). ", how));
    return number << shift;
}

std::vector<std::size_t> parse_sizes(std::string const& list) {
    std::vector<std::size_t> sizes;
    for (std::string const& item : split(list, ',')) {
        std::size_t const dash = item.find('-');
        if (dash == std::string::npos) {
            sizes.push_back(parse_size(item));
        } else {
            auto const range = powers_of_two(item.substr(0, dash), item.substr(dash + 1));
            sizes.insert(sizes.end(), range.begin(), range.end());
        }
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
}

std::string format_size(std::size_t bytes) {
    std::string_view const units = "KMG";
    for (std::size_t i = units.size(); i-- > 0;) {
        std::size_t const unit = std::size_t{1} << (10 * (i + 1));
        if (bytes >= unit && bytes % unit == 0) return text(bytes / unit, units[i]);
    }
    return text(bytes);
}

double parse_rate(std::string const& word) {
    std::size_t used = 0;
    double number = 0;
    try {
        number = std::stod(word, &used);
    } catch (std::exception const&) {  // used is 0, which is refused below
    }
    std::string const unit = lower(word.substr(used));
    double scale = 0;
    if (unit.empty() || unit == "bit") scale = 1;
    else if (unit == "kbit") scale = 1e3;
    else if (unit == "mbit") scale = 1e6;
    else if (unit == "gbit") scale = 1e9;
    if (used == 0 || scale == 0 || !(number > 0) || !std::isfinite(number))
        throw UsageError(text("link rate \"", word,
                              "\" (not a rate above 0). Write 200mbit, 10gbit ",
                              "or a number of bits per second"));
    return number * scale;
}

}  // namespace sinew::bench
