// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/algorithm_names.hpp"

#include <sinew/error.hpp>
#include <sstream>

namespace sinew::bench {

std::vector<std::string> algorithm_names(std::string const& explanation) {
    std::istringstream lines(explanation);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string first, second;
        if (!(words >> first >> second) || first != "bytes" || second != "choice") continue;
        std::vector<std::string> names;
        for (std::string name; words >> name;) names.push_back(name);
        return names;
    }
    throw UsageError(
        "--algorithm all (the text of --explain has no table to take the names from). "
        "Name the algorithms");
}

}  // namespace sinew::bench
