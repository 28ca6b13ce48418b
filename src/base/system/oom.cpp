// SPDX-License-Identifier: Apache-2.0
#include "src/base/system/oom.hpp"

#include <fstream>

namespace sinew {
namespace {

/// Returns the number after the word `oom_kill`, or 0.
std::uint64_t count_in(std::string const& path) {
    std::ifstream events(path);
    std::string word;
    std::uint64_t count = 0;
    while (events >> word >> count)
        if (word == "oom_kill") return count;
    return 0;
}

}  // namespace

std::uint64_t oom_kills(std::string const& root) {
    std::ifstream groups(root + "/proc/self/cgroup");
    auto const files = root + "/sys/fs/cgroup";
    // "0::/path" is version 2; "4:hugetlb,memory:/path" is version 1.
    for (std::string line; std::getline(groups, line);) {
        auto const first = line.find(':');
        auto const second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        auto const controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
        auto const path = line.substr(second + 1);
        std::uint64_t count = 0;
        if (controllers == ",,") {
            count = count_in(files + path + "/memory.events");
        } else if (controllers.find(",memory,") != std::string::npos) {
            count = count_in(files + "/memory" + path + "/memory.oom_control");
            // In a container the path may be the host's, which does not exist there.
            if (count == 0) count = count_in(files + "/memory/memory.oom_control");
        }
        if (count != 0) return count;
    }
    return 0;
}

std::uint64_t oom_kills_in(std::string const& folder) {
    auto const count = count_in(folder + "/memory.events");
    return count != 0 ? count : count_in(folder + "/memory.oom_control");
}

}  // namespace sinew
