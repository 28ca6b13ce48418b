// SPDX-License-Identifier: Apache-2.0
#include "tests/support/processes.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <system_error>
#include <thread>

#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"

namespace sinew::testing_support {
namespace {

std::vector<pid_t> all_pids() {
    std::vector<pid_t> found;
    std::unique_ptr<DIR, int (*)(DIR*)> const folder(::opendir("/proc"), ::closedir);
    while (auto const* entry = folder ? ::readdir(folder.get()) : nullptr)
        if (pid_t const pid = std::atoi(entry->d_name); pid > 0) found.push_back(pid);
    return found;
}

}  // namespace

// Not read by a stream: reading fails for a process that has ended.
std::string read_whole(std::string const& path) {
    UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string bytes;
    std::array<char, 16384> buffer;
    for (ssize_t count = 0; file && (count = ::read(file.get(), buffer.data(), buffer.size())) > 0;)
        bytes.append(buffer.data(), static_cast<std::size_t>(count));
    return bytes;
}

ProcessInfo process_info(pid_t pid) {
    ProcessInfo info{.pid = pid, .parent = 0, .group = 0, .state = 'X', .command = {}};
    auto const stat = read_whole(text("/proc/", pid, "/stat"));
    auto const end = stat.rfind(')');  // the name may contain anything
    if (end == std::string::npos) return info;
    std::istringstream(stat.substr(end + 1)) >> info.state >> info.parent >> info.group;
    info.command = read_whole(text("/proc/", pid, "/cmdline"));
    std::replace(info.command.begin(), info.command.end(), '\0', ' ');
    return info;
}

std::map<std::string, std::string> environment_of(pid_t pid) {
    std::map<std::string, std::string> found;
    std::istringstream words(read_whole(text("/proc/", pid, "/environ")));
    for (std::string word; std::getline(words, word, '\0');)
        if (auto const equals = word.find('='); equals != word.npos)
            found.emplace(word.substr(0, equals), word.substr(equals + 1));
    return found;
}

std::vector<ProcessInfo> processes_with(std::string const& name, std::string const& value) {
    std::vector<ProcessInfo> found;
    for (pid_t const pid : all_pids()) {
        auto const environment = environment_of(pid);
        auto const variable = environment.find(name);
        if (variable == environment.end() || variable->second != value) continue;
        if (auto const info = process_info(pid); info.state != 'X' && info.state != 'Z')
            found.push_back(info);
    }
    return found;
}

std::vector<ProcessInfo> descendants_of(pid_t top) {
    std::vector<ProcessInfo> all, found;
    for (pid_t const pid : all_pids()) all.push_back(process_info(pid));
    std::vector<pid_t> above{top};
    for (std::size_t next = 0; next < above.size(); ++next)
        for (auto const& info : all)
            if (info.parent == above[next] && info.state != 'X') {
                above.push_back(info.pid);
                found.push_back(info);
            }
    return found;
}

std::size_t resident_size(pid_t pid) {
    std::size_t whole = 0, resident = 0;
    std::istringstream(read_whole(text("/proc/", pid, "/statm"))) >> whole >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

bool is_alive(pid_t pid) {
    auto const state = process_info(pid).state;
    return state != 'X' && state != 'Z';
}

bool stop_process(pid_t pid) {
    ::kill(pid, SIGSTOP);
    auto const all_stopped = [pid] {
        std::error_code none;
        for (std::filesystem::directory_iterator at(text("/proc/", pid, "/task"), none), end;
             !none && at != end; at.increment(none)) {
            auto const stat = read_whole(at->path().string() + "/stat");
            auto const name_end = stat.rfind(") ");
            if (name_end != std::string::npos && stat.substr(name_end + 2, 1) != "T") return false;
        }
        return true;
    };
    auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!all_stopped()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

std::string describe(std::vector<ProcessInfo> const& processes) {
    std::string words;
    for (auto const& each : processes)
        words += text("  pid ", each.pid, " parent ", each.parent, " state ", each.state, " ",
                      each.command, "\n");
    return words;
}

}  // namespace sinew::testing_support
