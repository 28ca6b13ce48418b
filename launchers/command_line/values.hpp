// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launchers/command_line/settings.hpp"

namespace sinew::launch {

std::string lower(std::string text);
std::string_view trim(std::string_view text);
/// Splits at each `at` and keeps empty parts: "a,,b" has three parts, "" has one.
std::vector<std::string> split(std::string_view text, char at);
/// Parses all of `text` as an unsigned number. Returns nothing if that fails or is out of range.
std::optional<int> parse_int(std::string_view text, int least, int most);
/// Reads the whole file. Throws UsageError "<what> <path> cannot be read (why)".
std::string read_text(std::string const& path, std::string const& what);

// Each throws UsageError "<origin> (must be ...)" if the value is something else.
bool to_flag(Setting const& setting);
int to_count(Setting const& setting, int least, int most);
/// `zero`: 0 is allowed.
std::chrono::nanoseconds to_time(Setting const& setting, bool zero);
/// Returns the index of the value in `choices`.
std::size_t to_choice(Setting const& setting, std::vector<std::string_view> const& choices);
/// Returns the value, which must not be empty.
std::string to_words(Setting const& setting);

using Setter = std::function<void(Draft&, Setting const&)>;

/// Set variables for the ranks. Each throws UsageError if the setting is malformed.
void set_variable(Draft& draft, Setting const& setting);       ///< -x VAR, VAR=V, VAR*
void set_variable_list(Draft& draft, Setting const& setting);  ///< -genvlist A,B
void read_env_file(Draft& draft, Setting const& setting);
void set_mca(Draft& draft, Setting const& setting);
/// Returns a setter for -env, -genv and --pmixmca: "KEY=VALUE" or "KEY VALUE" sets <prefix>KEY.
Setter set_pair(std::string prefix);

}  // namespace sinew::launch
