// SPDX-License-Identifier: Apache-2.0
#include "launchers/descendants.hpp"

#include <dirent.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>

namespace sinew::launch {
namespace {

struct Process {
    pid_t parent = 0;
    char state = '?';
};

// pid (name that may hold anything) state parent ...
Process about(std::string const& pid) {
    std::string line;
    std::getline(std::ifstream("/proc/" + pid + "/stat"), line);
    auto const end = line.rfind(')');
    if (end == std::string::npos || end + 4 >= line.size()) return {};
    return {.parent = static_cast<pid_t>(std::strtol(line.c_str() + end + 4, nullptr, 10)),
            .state = line[end + 2]};
}

std::multimap<pid_t, pid_t> living_children() {
    std::multimap<pid_t, pid_t> found;
    std::unique_ptr<DIR, int (*)(DIR*)> const folder(::opendir("/proc"), ::closedir);
    if (!folder) return found;
    while (auto const* entry = ::readdir(folder.get())) {
        char* end = nullptr;
        long const pid = std::strtol(entry->d_name, &end, 10);
        if (pid <= 0 || *end != '\0') continue;
        auto const process = about(entry->d_name);
        if (process.state != 'Z' && process.state != 'X')
            found.emplace(process.parent, static_cast<pid_t>(pid));
    }
    return found;
}

// As /proc has them now: who forks while it is read may be missing with its child.
std::vector<pid_t> descendants() {
    auto const children = living_children();
    std::vector<pid_t> found{::getpid()};
    for (std::size_t next = 0; next < found.size(); ++next) {
        auto const [first, last] = children.equal_range(found[next]);
        for (auto child = first; child != last; ++child) found.push_back(child->second);
    }
    found.erase(found.begin());
    return found;
}

// False: there is no child, not even a dead one. That none is living cannot be read off /proc, which
// is no snapshot; but orphans below us are our children from their parents' end on.
bool reap_children() {
    for (;;) {
        pid_t const pid = ::waitpid(-1, nullptr, WNOHANG);
        if (pid == 0) return true;
        if (pid < 0 && errno != EINTR) return false;
    }
}

}  // namespace

std::size_t kill_descendants() {
    for (int round = 0; round < 500; ++round) {
        for (pid_t const pid : descendants()) ::kill(pid, SIGKILL);
        if (!reap_children()) return 0;
        timespec const nap{.tv_sec = 0, .tv_nsec = round < 20 ? 1'000'000 : 10'000'000};
        ::nanosleep(&nap, nullptr);
    }
    return descendants().size();
}

void reap_adopted(std::vector<pid_t> const& ours) {
    std::ifstream children("/proc/thread-self/children");
    pid_t pid = 0;
    while (children >> pid)
        if (std::find(ours.begin(), ours.end(), pid) == ours.end())
            ::waitpid(pid, nullptr, WNOHANG);
}

}  // namespace sinew::launch
