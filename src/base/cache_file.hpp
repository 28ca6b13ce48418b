// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace sinew {

/// Returns a line that cache_line() has stored in the file `name` under $XDG_CACHE_HOME/sinew (by
/// default ~/.cache/sinew). The files are a cache of facts about this machine: returns nothing on
/// any failure, and the caller determines the fact again.
std::optional<std::string> cached_line(std::string const& name) noexcept;
/// Replaces the stored line atomically. Failures are ignored.
void cache_line(std::string const& name, std::string const& line) noexcept;

/// The path of the file `name`, whether it exists or not; nothing if there is no home folder.
std::optional<std::string> cache_file(std::string const& name);

/// Makes `word` usable in such a name: replaces all but letters, digits, '-' and '.' by '_'.
std::string cache_word(std::string word);

}  // namespace sinew
