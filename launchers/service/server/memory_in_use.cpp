// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/server/memory_in_use.hpp"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

namespace sinew::launch::service {
namespace {

struct ProcessMemory {
    pid_t parent = 0;
    std::uint64_t bytes = 0;
};

// From /proc/PID/stat: pid (a name that may hold anything) state parent ...
ProcessMemory memory_of_process(std::string const& pid) {
    constexpr int fields_before_pages = 19;  // between the parent and the resident pages, proc(5)
    std::string line;
    std::getline(std::ifstream("/proc/" + pid + "/stat"), line);
    auto const end = line.rfind(')');
    if (end == line.npos || end + 4 >= line.size()) return {};
    std::istringstream rest(line.substr(end + 4));
    ProcessMemory found;
    rest >> found.parent;
    std::string skipped;
    for (int field = 0; field < fields_before_pages; ++field) rest >> skipped;
    std::uint64_t pages = 0;
    rest >> pages;
    found.bytes = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return found;
}

}  // namespace

std::map<pid_t, std::uint64_t> memory_in_use(std::vector<pid_t> const& roots) {
    std::map<pid_t, std::uint64_t> sums;
    if (roots.empty()) return sums;
    std::map<pid_t, ProcessMemory> processes;
    std::unique_ptr<DIR, int (*)(DIR*)> const folder(::opendir("/proc"), ::closedir);
    if (!folder) return sums;
    while (auto const* entry = ::readdir(folder.get())) {
        char* end = nullptr;
        long const pid = std::strtol(entry->d_name, &end, 10);
        if (pid > 0 && *end == '\0')
            processes[static_cast<pid_t>(pid)] = memory_of_process(entry->d_name);
    }
    for (auto const& [pid, process] : processes) {
        auto ancestor = process.parent;
        // /proc is no snapshot: a number that was used again could make a circle.
        for (std::size_t steps = 0; ancestor > 1 && steps < processes.size(); ++steps) {
            if (std::ranges::find(roots, ancestor) != roots.end()) {
                sums[ancestor] += process.bytes;
                break;
            }
            auto const next = processes.find(ancestor);
            if (next == processes.end()) break;
            ancestor = next->second.parent;
        }
    }
    return sums;
}

}  // namespace sinew::launch::service
