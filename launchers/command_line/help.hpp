// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sinew::launch {

struct HelpTopic {
    std::string_view name;
    std::string_view about;  ///< a few words, for the list of topics
    std::string_view text;   ///< what comes before its flags
};
std::vector<HelpTopic> const& help_topics();

/// The help on a topic with its flags; on "" the sinew command and the list of topics. Lines are
/// shorter than 80 columns. Throws UsageError for a topic that there is not.
std::string help_text(std::string_view topic);

/// Version and where to ask, for --version.
std::string version_text();

}  // namespace sinew::launch
