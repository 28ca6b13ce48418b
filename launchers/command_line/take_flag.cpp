// SPDX-License-Identifier: Apache-2.0
#include "launchers/command_line/take_flag.hpp"

#include <algorithm>

#include <sinew/error.hpp>

#include "launchers/command_line/flags.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using Words = std::vector<std::string>;

/// A flag as written, split at its '=' or after its letter.
struct Spoken {
    FoundFlag found;
    std::string name;  ///< with its dashes, as written
    std::optional<std::string> value;
};

std::string_view name_in(std::string_view word) {
    if (word.substr(0, 1) == "-") word.remove_prefix(1);
    if (word.substr(0, 1) == "-") word.remove_prefix(1);
    return word.substr(0, word.find('='));
}

/// Parses a one-letter flag written together with its value or repeated: "-n4", "-vvv".
Spoken take_stuck(std::string const& word) {
    std::string_view const letters = std::string_view(word).substr(1);
    auto const digits = letters.substr(1);
    if (std::all_of(letters.begin(), letters.end(), [](char c) { return c == 'v'; }))
        return {find_flag("vv"), word, {}};
    if (std::string_view("nNc").find(letters.front()) != std::string_view::npos &&
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }))
        return {find_flag(letters.substr(0, 1)), word.substr(0, 2), std::string(digits)};
    return {};
}

Spoken understand(std::string const& word) {
    Spoken spoken;
    spoken.found = find_flag(name_in(word));
    if (spoken.found.flag != nullptr) {
        std::size_t const equals = word.find('=');
        spoken.name = word.substr(0, equals);
        if (equals != std::string::npos) spoken.value = word.substr(equals + 1);
    } else if (word.size() > 2 && word[1] != '-') {
        spoken = take_stuck(word);
    }
    if (spoken.found.flag == nullptr)
        throw UsageError(text("unknown flag ", word.substr(0, word.find('=')), suggest_flag(word)));
    return spoken;
}

bool is_flag(std::string const& word) {
    return word == "--" ||
           (word.size() > 1 && word.front() == '-' && find_flag(name_in(word)).flag != nullptr);
}

[[noreturn]] void no_value(Spoken const& spoken) {
    Flag const& flag = *spoken.found.flag;
    throw UsageError(
        text(spoken.name, " has no value (expected ", flag.value, ": ", flag.help, ")"));
}

std::string take_value(Spoken const& spoken, Words& words) {
    // If a flag follows, the value was probably forgotten; --name=value accepts any value.
    if (words.empty() || is_flag(words.front())) no_value(spoken);
    std::string value = std::move(words.front());
    words.erase(words.begin());
    return value;
}

Setting take_two(Spoken const& spoken, Words& words) {
    if (spoken.value) no_value(spoken);
    std::string const key = take_value(spoken, words);
    if (key.empty() || key.find_first_of("= ") != std::string::npos)
        throw UsageError(
            text(spoken.name, " ", key, " (must be two words, ", spoken.found.flag->value, ")"));
    if (words.empty()) no_value(spoken);
    std::string const value = std::move(words.front());
    words.erase(words.begin());
    return {"", key + "=" + value, text(spoken.name, " ", key, " ", value), ""};
}

Setting take_switch(Spoken const& spoken) {
    if (spoken.value && spoken.found.implied != "yes")
        throw UsageError(text(spoken.name, "=", *spoken.value, " (takes no value)"));
    if (spoken.value) return {"", *spoken.value, text(spoken.name, "=", *spoken.value), ""};
    return {"", std::string(spoken.found.implied), spoken.name, ""};
}

}  // namespace

std::optional<Setting> take_flag(Words& words) {
    if (words.empty()) return std::nullopt;
    if (words.front().size() < 2 || words.front().front() != '-') return std::nullopt;
    std::string const word = std::move(words.front());
    words.erase(words.begin());
    if (word == "--") return std::nullopt;
    Spoken const spoken = understand(word);
    Setting setting;
    switch (spoken.found.flag->takes) {
        case Flag::Takes::nothing:
            setting = take_switch(spoken);
            break;
        case Flag::Takes::two_values:
            setting = take_two(spoken, words);
            break;
        case Flag::Takes::maybe_value:
            setting.value = spoken.value.value_or("run");
            if (!spoken.value && !words.empty() && words.front().rfind('-', 0) != 0)
                setting.value = take_value(spoken, words);
            break;
        case Flag::Takes::value:
            setting.value = spoken.value ? *spoken.value : take_value(spoken, words);
            break;
    }
    if (setting.origin.empty())
        setting.origin = text(spoken.name, spoken.value ? "=" : " ", setting.value);
    setting.key = spoken.found.flag->key;
    return setting;
}

}  // namespace sinew::launch
