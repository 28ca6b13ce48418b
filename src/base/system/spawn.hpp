// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/system/unique_fd.hpp"

namespace sinew {

/// A program to start, in a process group of its own.
struct SpawnRequest {
    std::string path;  ///< of the executable, as resolved
    std::vector<std::string> argv;
    std::vector<std::string> env;     ///< "NAME=value", all of it
    std::string folder;               ///< working directory; empty: ours
    std::optional<cpu_set_t> cpus;    ///< bound to these
    int in = -1, out = -1, err = -1;  ///< -1: /dev/null for `in`, ours for the others
    std::vector<int> keep;            ///< further descriptors to inherit, under their numbers
    bool only_kept = false;           ///< no others beyond 2, however they were opened (Linux 5.11)
    int group = -1;                   ///< a cgroup's cgroup.procs: it moves there; -1: ours
    int death_signal = 0;             ///< that it gets when the calling thread ends; 0: none
};

struct Spawned {
    pid_t pid = 0;
    UniqueFd ended{};    ///< pidfd: readable when the process has ended
    int error = 0;       ///< errno of `step`; 0: it runs
    std::string step{};  ///< what failed: "exec ./prog"
};

/// Starts it by vfork: the address space is not copied, and the reason of a failing exec is known
/// when this returns. All signals are at their defaults in the child, none blocked. In this process
/// SIGCHLD is set to its default where it is ignored: exit codes would be lost.
Spawned spawn(SpawnRequest const& request);

/// A pipe, both ends closed on exec: {read end, write end}. Throws SystemError.
std::pair<UniqueFd, UniqueFd> make_pipe();

/// Takes the status of a child that has ended; false if it has not.
bool reap(pid_t pid, int& status);

}  // namespace sinew
