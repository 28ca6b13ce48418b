// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/tuned_table.hpp"

#include <charconv>
#include <optional>

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::collectives {

namespace {

/// Removes the first word of `line`; words are separated by one space each.
std::string_view next_word(std::string_view& line) {
    std::size_t const end = std::min(line.find(' '), line.size());
    std::string_view const word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return word;
}

std::optional<std::uint8_t> number_below(std::string_view word, unsigned limit) {
    unsigned number = 0;
    auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    bool const whole = error == std::errc() && end == word.data() + word.size();
    if (!whole || number >= limit || text(number) != word) return std::nullopt;
    return static_cast<std::uint8_t>(number);
}

std::optional<Collective> collective_of(std::string_view word) {
    for (int i = 0; i < collectives_count; ++i)
        if (name(static_cast<Collective>(i)) == word) return static_cast<Collective>(i);
    return std::nullopt;
}

/// Nothing if the line is no row.
std::optional<std::pair<Tuner::Kind, Algorithm const*>> row_of(std::string_view line) {
    auto const collective = collective_of(next_word(line));
    auto const by_node = number_below(next_word(line), 2);
    auto const freedom = number_below(next_word(line), Tuner::freedoms);
    auto const bucket = number_below(next_word(line), Tuner::buckets);
    if (!collective || !by_node || !freedom || !bucket) return std::nullopt;
    for (Algorithm const& algorithm : algorithms(*collective))
        if (algorithm.name == line)
            return {{{*collective, *by_node != 0, *freedom, *bucket}, &algorithm}};
    return std::nullopt;
}

}  // namespace

std::string TunedTable::to_text() const {
    std::string all;
    for (auto const& [kind, algorithm] : rows_)
        all += text(name(kind.collective), ' ', kind.by_node ? 1 : 0, ' ', int{kind.freedom}, ' ',
                    int{kind.bucket}, ' ', algorithm->name, '\n');
    return all;
}

TunedTable TunedTable::from_text(std::string_view text) {
    TunedTable table;
    for (int number = 1; !text.empty(); ++number) {
        std::size_t const end = text.find('\n');
        std::string_view const line = text.substr(0, std::min(end, text.size()));
        auto const row = end == text.npos ? std::nullopt : row_of(line);
        bool const later = table.rows_.empty() || (row && table.rows_.rbegin()->first < row->first);
        if (!row || !later || table.size() == most_rows)
            throw UsageError(sinew::text("row ", number, " of ", line.size(), " characters (",
                                         !row    ? "is none of a table of tuned calls"
                                         : later ? "is one more than there may be"
                                                 : "is not in order",
                                         ')'));
        table.rows_.emplace_hint(table.rows_.end(), row->first, row->second);
        text.remove_prefix(end + 1);
    }
    return table;
}

}  // namespace sinew::collectives
