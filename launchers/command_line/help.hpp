// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sinew::launch {

struct HelpTopic {
    std::string_view name;
    std::string_view about;  ///< a few words, for the list of topics
    std::string_view text;   ///< the text before its flags
};
std::vector<HelpTopic> const& help_topics();

/// Returns the help on a topic with its flags, or for "" the sinew command and the list of topics.
/// Lines have less than 80 columns. Throws UsageError for an unknown topic.
std::string help_text(std::string_view topic);

/// Returns the version line of --version.
std::string version_text();

}  // namespace sinew::launch
