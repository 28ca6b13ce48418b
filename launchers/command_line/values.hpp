// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launchers/command_line/settings.hpp"

namespace sinew::launch {

std::string lower(std::string text);
std::string_view trim(std::string_view text);
/// Also the empty parts: "a,,b" has three, "" has one.
std::vector<std::string> split(std::string_view text, char at);
/// The whole of `text`, without sign; nothing when it is no number or out of range.
std::optional<int> parse_int(std::string_view text, int least, int most);
/// The whole file. Throws UsageError: "<what> <path> cannot be read (why)".
std::string read_text(std::string const& path, std::string const& what);

/// Variables for the ranks. Each throws UsageError.
void set_variable(Draft& draft, Setting const& setting);       ///< -x VAR, VAR=V, VAR*
void set_variable_list(Draft& draft, Setting const& setting);  ///< -genvlist A,B
void read_env_file(Draft& draft, Setting const& setting);
void set_mca(Draft& draft, Setting const& setting);
/// "KEY=VALUE" or "KEY VALUE": sets <prefix>KEY, for -env, -genv, --pmixmca.
std::function<void(Draft&, Setting const&)> set_pair(std::string prefix);

}  // namespace sinew::launch
