// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace sinew {

/// Small texts of one line that were found out about this machine, one file each under
/// $XDG_CACHE_HOME/sinew (by default ~/.cache/sinew). A cache: whatever goes wrong, there is nothing,
/// and what was to be kept is found out again.
std::optional<std::string> cached_line(std::string const& name) noexcept;
/// A reader sees the former line, or all of this one.
void cache_line(std::string const& name, std::string const& line) noexcept;

/// What of it may be part of a name there: all else becomes '_'.
std::string cache_word(std::string word);

}  // namespace sinew
