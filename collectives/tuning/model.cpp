// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/model.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::collectives {

namespace {

constexpr std::string_view heading = "sinew-model-3";

/// The shortest text that reads back as the same number.
std::string exact(double value) {
    char buffer[32];
    auto const end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    return {buffer, end};
}

enum class Least : std::uint8_t { zero, above_zero };

/// Removes "key=number" from the front of `rest`. Returns false if it is not there or too small.
template <class Number>
bool take(std::string_view& rest, std::string_view key, Number& number,
          Least least = Least::above_zero) {
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    if (!rest.starts_with(key) || !rest.substr(key.size()).starts_with('=')) return false;
    rest.remove_prefix(key.size() + 1);
    auto const [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    bool const enough = least == Least::zero ? number >= 0 : number > 0;
    if (error != std::errc{} || !enough || !std::isfinite(static_cast<double>(number)))
        return false;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return rest.empty() || rest.front() == ' ';
}

/// Calls field(name, value, least) for each number of a level, until it returns false.
template <class SomeLevel, class Field>
bool each_number(SomeLevel& level, Field field) {
    bool good = field("segment", level.segment, Least::above_zero) &&
                field("window", level.window, Least::above_zero) &&
                field("stream_per_byte", level.stream_per_byte, Least::above_zero) &&
                field("overlap", level.overlap, Least::zero) &&
                field("gap_per_message", level.gap_per_message, Least::zero) &&
                field("gap_per_byte", level.gap_per_byte, Least::zero);
    for (std::size_t i = 0; i < Level::sizes.size(); ++i)
        good = good && field(std::to_string(Level::sizes[i]), level.seconds[i], Least::above_zero);
    return good;
}

std::string text_of(std::string_view name, Level const& level) {
    std::string words;
    each_number(level, [&](std::string_view key, auto number, Least) {
        words += text(' ', name, '.', key, '=');
        if constexpr (std::is_same_v<decltype(number), double>) words += exact(number);
        else words += std::to_string(number);
        return true;
    });
    return words;
}

bool take_level(std::string_view& rest, std::string_view name, Level& level) {
    return each_number(level, [&](std::string_view key, auto& number, Least least) {
        return take(rest, text(name, '.', key), number, least);
    });
}

}  // namespace

double Model::stream(std::size_t bytes) const {
    if (!across_nodes()) return node.stream(bytes);
    double const between = network.stream(bytes);
    return placement.per_node > 1 ? std::max(between, node.stream(bytes)) : between;
}

double Model::exchange(std::size_t bytes, int distance) const {
    if (on_node(distance)) return node.exchange(bytes);
    return network.exchange(bytes) + (placement.per_node - 1) * network.gap(bytes);
}

double Model::exchange_in_tree(std::size_t bytes, int distance) const {
    if (on_node(distance)) return node.exchange(bytes);
    int const senders = placement.blocks ? 1 : std::max(placement.per_node / distance, 1);
    return network.exchange(bytes) + (senders - 1) * network.gap(bytes);
}

double Model::hop(std::size_t bytes) const {
    if (!across_nodes()) return node.exchange(bytes);
    double const crossing = static_cast<double>(placement.nodes) / placement.ranks;
    return crossing * network.exchange(bytes) + (1 - crossing) * node.exchange(bytes);
}

std::string Model::to_text() const {
    return text(heading, " reduce_per_byte=", exact(reduce_per_byte)) + text_of("node", node) +
           text_of("network", network);
}

Model Model::from_text(std::string const& line) {
    Model model;
    std::string_view rest = line;
    bool fits = rest.starts_with(heading);
    if (fits) rest.remove_prefix(heading.size());
    fits = fits && take(rest, "reduce_per_byte", model.reduce_per_byte) &&
           take_level(rest, "node", model.node) && take_level(rest, "network", model.network);
    if (!fits || !rest.empty())
        throw UsageError(text("\"", line, "\" is not a cost model (expected one line such as \"",
                              Model().to_text(), "\"). Remove it to have it measured again"));
    return model;
}

}  // namespace sinew::collectives
