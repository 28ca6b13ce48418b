// SPDX-License-Identifier: Apache-2.0
#include "launchers/agent/descendants.hpp"

#include <dirent.h>
#include <sys/syscall.h>
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
#include <sstream>
#include <string>

#include "src/base/system/unique_fd.hpp"

namespace sinew::launch {
namespace {

struct ProcStat {
    pid_t parent = 0;
    char state = '?';
    std::uint64_t start = 0;
};

constexpr int fields_before_start = 17;  // between the parent and the start time, see proc(5)

// Parses /proc/PID/stat: pid (name that may hold anything) state parent ...
ProcStat about(std::string const& pid) {
    std::string line;
    std::getline(std::ifstream("/proc/" + pid + "/stat"), line);
    auto const end = line.rfind(')');
    if (end == std::string::npos || end + 4 >= line.size()) return {};
    ProcStat found{.parent = 0, .state = line[end + 2], .start = 0};
    std::istringstream rest(line.substr(end + 4));
    rest >> found.parent;
    std::string skipped;
    for (int field = 0; field < fields_before_start; ++field) rest >> skipped;
    rest >> found.start;
    return found;
}

std::multimap<pid_t, ProcessLife> living_children() {
    std::multimap<pid_t, ProcessLife> found;
    std::unique_ptr<DIR, int (*)(DIR*)> const folder(::opendir("/proc"), ::closedir);
    if (!folder) return found;
    while (auto const* entry = ::readdir(folder.get())) {
        char* end = nullptr;
        long const pid = std::strtol(entry->d_name, &end, 10);
        if (pid <= 0 || *end != '\0') continue;
        auto const process = about(entry->d_name);
        if (process.state != 'Z' && process.state != 'X')
            found.emplace(process.parent,
                          ProcessLife{.pid = static_cast<pid_t>(pid), .start = process.start});
    }
    return found;
}

// Lists the descendants in /proc; may miss a process that forks during the scan, and its child.
std::vector<ProcessLife> descendants() {
    auto const children = living_children();
    std::vector<ProcessLife> found{{.pid = ::getpid(), .start = 0}};
    for (std::size_t next = 0; next < found.size(); ++next) {
        auto const [first, last] = children.equal_range(found[next].pid);
        for (auto child = first; child != last; ++child) found.push_back(child->second);
    }
    found.erase(found.begin());
    return found;
}

// Reaps children that have ended; false if no child is left, living or dead. A scan of /proc cannot
// prove that, since it is not a snapshot; but orphans become children of this subreaper.
bool reap_children() {
    for (;;) {
        pid_t const pid = ::waitpid(-1, nullptr, WNOHANG);
        if (pid == 0) return true;
        if (pid < 0 && errno != EINTR) return false;
    }
}

}  // namespace

std::optional<ProcessLife> process_life(pid_t pid) {
    auto const found = about(std::to_string(pid));
    if (found.state == '?') return std::nullopt;
    return ProcessLife{.pid = pid, .start = found.start};
}

bool kill_life(ProcessLife const& life) {
    UniqueFd const process(static_cast<int>(::syscall(SYS_pidfd_open, life.pid, 0)));
    bool const without = !process && errno == ENOSYS;  // Linux 5.2 or older: kill by id instead
    if (!process && !without) return false;
    // The descriptor refers to the process that has the id at present, or to one that has ended.
    auto const now = process_life(life.pid);
    if (!now || now->start != life.start) return false;
    if (without) return ::kill(life.pid, SIGKILL) == 0;
    return ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) == 0;
}

std::size_t kill_descendants() {
    for (int round = 0; round < 500; ++round) {
        for (auto const& life : descendants()) kill_life(life);
        if (!reap_children()) return 0;
        timespec const nap{.tv_sec = 0, .tv_nsec = round < 20 ? 1'000'000 : 10'000'000};
        ::nanosleep(&nap, nullptr);
    }
    return descendants().size();
}

// A process whose parent has ended becomes a child of this one: it is found in the next round.
void kill_adopted(std::vector<pid_t> const& ours) {
    for (int round = 0; round < 200; ++round) {
        std::ifstream children("/proc/thread-self/children");
        bool any = false;
        for (pid_t pid = 0; children >> pid;) {
            if (std::find(ours.begin(), ours.end(), pid) != ours.end()) continue;
            any = true;
            ::kill(pid, SIGKILL);  // it is our child and has not been reaped
            ::waitpid(pid, nullptr, WNOHANG);
        }
        if (!any) return;
        timespec const nap{.tv_sec = 0, .tv_nsec = round < 20 ? 500'000 : 5'000'000};
        ::nanosleep(&nap, nullptr);
    }
}

void reap_adopted(std::vector<pid_t> const& ours) {
    std::ifstream children("/proc/thread-self/children");
    pid_t pid = 0;
    while (children >> pid)
        if (std::find(ours.begin(), ours.end(), pid) == ours.end())
            ::waitpid(pid, nullptr, WNOHANG);
}

}  // namespace sinew::launch
