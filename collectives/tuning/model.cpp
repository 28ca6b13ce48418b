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

constexpr std::string_view heading = "sinew-model-2";

/// The shortest text that reads back as the same number.
std::string exact(double value) {
    char buffer[32];
    auto const end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    return {buffer, end};
}

/// Removes "key=number" from the front of `rest`. Returns false unless the number is positive.
template <class Number>
bool take(std::string_view& rest, std::string_view key, Number& number) {
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    if (!rest.starts_with(key) || !rest.substr(key.size()).starts_with('=')) return false;
    rest.remove_prefix(key.size() + 1);
    auto const [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc{} || !(number > 0) || !std::isfinite(static_cast<double>(number)))
        return false;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return rest.empty() || rest.front() == ' ';
}

}  // namespace

double Model::exchange(std::size_t bytes) const {
    if (bytes == 0) return 0;  // it is not sent
    auto const size = [](std::size_t i) { return static_cast<double>(sizes[i]); };
    auto const wanted = static_cast<double>(bytes);
    if (bytes <= sizes.front()) return seconds.front();
    if (bytes >= sizes.back()) return seconds.back() * wanted / size(sizes.size() - 1);
    std::size_t above = 1;
    while (sizes[above] < bytes) ++above;
    double const share = (wanted - size(above - 1)) / (size(above) - size(above - 1));
    return seconds[above - 1] + share * (seconds[above] - seconds[above - 1]);
}

double Model::overlapped(std::size_t bytes) const {
    constexpr double least_share = 0.25;  // the share of a message's time that others cannot hide
    double const alone = exchange(bytes);
    double const hidden = exchange(1) * (1 - 1.0 / window);
    return std::max(alone - hidden, alone * least_share);
}

std::string Model::to_text() const {
    std::string line = text(heading, " segment=", segment, " window=", window,
                            " reduce_per_byte=", exact(reduce_per_byte),
                            " stream_per_byte=", exact(stream_per_byte));
    for (std::size_t i = 0; i < sizes.size(); ++i)
        line += text(' ', sizes[i], '=', exact(seconds[i]));
    return line;
}

Model Model::from_text(std::string const& line) {
    Model model;
    std::string_view rest = line;
    bool fits = rest.starts_with(heading);
    if (fits) rest.remove_prefix(heading.size());
    fits = fits && take(rest, "segment", model.segment) && take(rest, "window", model.window) &&
           take(rest, "reduce_per_byte", model.reduce_per_byte) &&
           take(rest, "stream_per_byte", model.stream_per_byte);
    for (std::size_t i = 0; i < sizes.size(); ++i)
        fits = fits && take(rest, std::to_string(sizes[i]), model.seconds[i]);
    if (!fits || !rest.empty())
        throw UsageError(text("\"", line, "\" is not a cost model (expected one line such as \"",
                              Model().to_text(), "\"). Remove it to have it measured again"));
    return model;
}

}  // namespace sinew::collectives
