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

/// A program to start in a new process group.
struct SpawnRequest {
    std::string path;  ///< resolved path of the executable
    std::vector<std::string> argv;
    std::vector<std::string> env;     ///< the complete environment, "NAME=value" each
    std::string folder;               ///< working directory; empty: ours
    std::optional<cpu_set_t> cpus;    ///< processors that the child is bound to
    int in = -1, out = -1, err = -1;  ///< -1: /dev/null for `in`, ours for the others
    std::vector<int> keep;            ///< further descriptors to inherit, under their numbers
    bool only_kept = false;           ///< close all others above 2, even inheritable (Linux 5.11)
    int group = -1;                   ///< cgroup.procs of the child's cgroup; -1: our cgroup
    int death_signal = 0;             ///< sent to the child if the calling thread ends; 0: none
};

struct Spawned {
    pid_t pid = 0;
    UniqueFd ended{};    ///< pidfd: readable when the process has ended
    int error = 0;       ///< errno of the failed `step`; 0: the program runs
    std::string step{};  ///< the step that failed: "execute ./prog"
};

/// Starts a program by vfork: the address space is not copied, and the error of a failed exec is
/// known on return. All signals have their default actions in the child, and none is blocked. If
/// this process ignores SIGCHLD, it is set to its default, as exit codes would be lost. Throws
/// SystemError if the child cannot be watched (pidfd_open).
Spawned spawn(SpawnRequest const& request);

/// Returns a new pipe {read end, write end}; both ends are closed on exec. Throws SystemError.
std::pair<UniqueFd, UniqueFd> make_pipe();

/// Reaps a child that has ended and sets `status`; returns false if it has not ended.
bool reap(pid_t pid, int& status);

}  // namespace sinew
