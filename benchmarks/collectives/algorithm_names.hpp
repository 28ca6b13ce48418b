// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::bench {

/// The algorithms in the text of Communicator::explain: the words after "choice" in the head of its
/// table.
std::vector<std::string> algorithm_names(std::string const& explanation);

}  // namespace sinew::bench
