// SPDX-License-Identifier: Apache-2.0
#include "examples/sgd_digits/csv.hpp"

#include <charconv>
#include <cmath>
#include <string>

namespace sgd_digits {
namespace {

/// The current position, for error messages: "train.csv line 3, column 65".
struct Place {
    std::string const& file;
    std::size_t line = 0;
    std::size_t column = 0;

    [[noreturn]] void fail(std::string const& problem) const {
        throw DataError(file + " line " + std::to_string(line) + ", column " +
                        std::to_string(column) + ": " + problem);
    }
};

/// Quotes a field with unprintable characters replaced: a broken file may contain anything.
std::string quoted(std::string_view field) {
    std::string shown = "\"";
    for (char const c : field.substr(0, 24)) shown += c >= ' ' && c <= '~' ? c : '?';
    return shown + (field.size() > 24 ? "...\"" : "\"");
}

/// Removes the text before `separator` from the front of `rest` and returns it.
std::string_view take_until(std::string_view& rest, char separator) {
    auto const end = rest.find(separator);
    auto const taken = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    return taken;
}

std::string_view trimmed(std::string_view field) {
    auto const first = field.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return field.substr(first, field.find_last_not_of(" \t\r") - first + 1);
}

float number(std::string_view field, Place const& place) {
    float value = 0;
    auto const [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (field.empty() || error != std::errc{} || end != field.data() + field.size() ||
        !std::isfinite(value))
        place.fail(quoted(field) + " (expected a number). A header line must be taken out.");
    return value;
}

std::uint8_t label(std::string_view field, Place const& place) {
    float const value = number(field, place);
    if (!(value >= 0 && value < classes && value == std::floor(value)))
        place.fail("label " + quoted(field) + " (expected a digit, 0 to 9).");
    return static_cast<std::uint8_t>(value);
}

void parse_line(std::string_view line, Place& place, Examples& examples) {
    std::size_t const start = examples.pixels.size();
    for (place.column = 1;; ++place.column) {
        bool const last = line.find(',') == std::string_view::npos;
        auto const field = trimmed(take_until(line, ','));
        if (last) {
            examples.labels.push_back(label(field, place));
            break;
        }
        examples.pixels.push_back(number(field, place));
    }
    std::size_t const features = examples.pixels.size() - start;
    if (features == 0) place.fail("only one value (expected features, then the label).");
    if (examples.features == 0) examples.features = features;
    if (features != examples.features)
        place.fail("the line ends after " + std::to_string(features + 1) + " values (expected " +
                   std::to_string(examples.features + 1) + ", as in the first line).");
}

}  // namespace

Examples parse_csv(std::string_view text, std::string const& name) {
    Examples examples;
    Place place{name};
    while (!text.empty()) {
        auto const line = take_until(text, '\n');
        ++place.line;
        if (!trimmed(line).empty()) parse_line(line, place, examples);
    }
    if (examples.size() == 0)
        throw DataError(name + ": no examples (expected one a line: features, then the label).");
    return examples;
}

}  // namespace sgd_digits
