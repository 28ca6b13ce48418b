// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinew::launch {

/// A setting, with its flag's spellings. It can also be set by SINEW_RUN_<KEY>, or by `key = value`
/// in a configuration file. Parsing, help and the tests of the man page and the completion all use
/// the one table of flags.
struct Flag {
    enum class Takes : std::uint8_t { nothing, value, two_values, maybe_value };
    enum class For : std::uint8_t { job, program };  ///< program: may be repeated after a ':'

    std::string_view key;
    std::string_view spellings;  ///< as documented, separated by spaces; one dash equals two
    std::string_view value;      ///< the value's name in the help, "K V" for two; empty: a switch
    Takes takes = Takes::value;
    For whose = For::job;
    std::string_view topic;  ///< the help topic
    std::string_view help;
};

std::vector<Flag> const& all_flags();

/// A flag as found on a command line.
struct FoundFlag {
    Flag const* flag = nullptr;  ///< null: unknown
    /// The value that the spelling implies: "yes" for a switch, "no" for --nooversubscribe.
    std::string_view implied;
};

/// Finds a flag by name, without its dashes ("np", "machinefile").
FoundFlag find_flag(std::string_view name);
Flag const* find_key(std::string_view key);
std::vector<std::string_view> spellings(Flag const& flag);

/// Returns the entry of `names` most similar to `word`, or an empty view if none is similar.
std::string_view nearest(std::string_view word, std::vector<std::string_view> const& names);
/// Returns ". Did you mean --tag-output?", or a hint where to find the flags.
std::string suggest_flag(std::string_view word);

}  // namespace sinew::launch
