// SPDX-License-Identifier: Apache-2.0
#include "src/base/oom.hpp"

#include <fstream>
#include <string>

namespace sinew {

std::uint64_t oom_kills() {
    std::string line;
    std::ifstream groups("/proc/self/cgroup");
    while (std::getline(groups, line) && !line.starts_with("0::")) {}
    if (!line.starts_with("0::")) return 0;
    std::ifstream events("/sys/fs/cgroup" + line.substr(3) + "/memory.events");
    std::string word;
    std::uint64_t count = 0;
    while (events >> word >> count)
        if (word == "oom_kill") return count;
    return 0;
}

}  // namespace sinew
