// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace sinew::testing_support {

/// One process, as shown by /proc.
struct ProcessInfo {
    pid_t pid = 0, parent = 0, group = 0;
    char state = '?';
    std::string command;  ///< its arguments, separated by blanks
};

std::string read_whole(std::string const& path);
/// Processes with the variable `name=value` in their environment, without zombies.
std::vector<ProcessInfo> processes_with(std::string const& name, std::string const& value);
/// Living descendants of a process, and zombies.
std::vector<ProcessInfo> descendants_of(pid_t pid);
std::map<std::string, std::string> environment_of(pid_t pid);
ProcessInfo process_info(pid_t pid);
/// Resident memory in bytes.
std::size_t resident_size(pid_t pid);
bool is_alive(pid_t pid);
/// Sends SIGSTOP and waits until all threads have stopped. Returns false after 20 s.
bool stop_process(pid_t pid);
std::string describe(std::vector<ProcessInfo> const& processes);

}  // namespace sinew::testing_support
