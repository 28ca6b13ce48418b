// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinew::launch {

/// One thing that can be set, by any of its spellings, by SINEW_RUN_<KEY>, or by `key = value` in
/// a configuration file. The one table of them is the source of parsing, help and the tests of
/// the man page and the completion.
struct Flag {
    enum class Takes : std::uint8_t { nothing, value, two_values, maybe_value };
    enum class For : std::uint8_t { job, program };  ///< program: may be said again after a ':'

    std::string_view key;
    std::string_view spellings;  ///< as documented, by spaces; one dash or two are alike
    std::string_view value;      ///< its name in the help, "K V" for two; empty: a switch
    Takes takes = Takes::value;
    For whose = For::job;
    std::string_view topic;  ///< of the help
    std::string_view help;
};

std::vector<Flag> const& all_flags();

/// A flag as found on a command line.
struct FoundFlag {
    Flag const* flag = nullptr;  ///< null: unknown
    /// What the spelling itself says: "yes" of a switch, "no" of --nooversubscribe.
    std::string_view implied;
};

/// By its name, dashes left off ("np", "machinefile").
FoundFlag find_flag(std::string_view name);
Flag const* find_key(std::string_view key);
std::vector<std::string_view> spellings(Flag const& flag);

/// Of `names` the one most like `word` but for a few letters; empty when nothing is like it.
std::string_view nearest(std::string_view word, std::vector<std::string_view> const& names);
/// ". Did you mean --tag-output?", or a hint where to look.
std::string suggest_flag(std::string_view word);

}  // namespace sinew::launch
