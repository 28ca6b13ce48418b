// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/case.hpp"

#include <algorithm>
#include <sinew/error.hpp>

#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

bool holds(std::vector<std::string> const& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string> known_words(char const* flag, std::string const& list,
                                     std::vector<std::string> const& names) {
    auto words = split(list, ',');
    for (auto const& word : words)
        if (!holds(names, word))
            throw UsageError(text(flag, " ", word, " (there are: ", join(names), "). Did you mean ",
                                  nearest(word, names), "?"));
    return words;
}

}  // namespace

std::vector<Case> chosen_cases(std::string const& list, std::vector<Case> const& all) {
    if (list == "all") return all;
    std::vector<std::string> names;
    for (auto const& each : all) names.emplace_back(each.name);
    auto const wanted = known_words("--cases", list, names);
    std::vector<Case> found;
    for (auto const& each : all)
        if (holds(wanted, each.name)) found.push_back(each);
    return found;
}

std::vector<std::string> chosen_peers(std::string const& list,
                                      std::vector<std::string> const& all) {
    if (list == "all") return all;
    if (list.empty() || list == "none") return {};
    return known_words("--peers", list, all);
}

}  // namespace sinew::bench
