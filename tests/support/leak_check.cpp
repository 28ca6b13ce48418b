// SPDX-License-Identifier: Apache-2.0
#include "tests/support/leak_check.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include "src/base/job_folder.hpp"
#include "src/base/text.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

namespace fs = std::filesystem;

std::string prefix() { return text("sinew-", ::getuid(), "-"); }

// A separate base folder for this process (if the runtime has not started yet) and its children, so
// that folders of other tests are not counted.
std::string const& own_base() {
    static JobFolder const base = [] {
        JobFolder folder(text("test-", ::getpid()));
        ::setenv("SINEW_TMPDIR", folder.path().c_str(), 1);
        return folder;
    }();
    return base.path();
}

std::vector<std::string> entries(std::vector<std::string> const& bases,
                                 std::vector<std::string> const& prefixes) {
    std::vector<std::string> found;
    for (auto const& base : bases) {
        std::error_code none;
        for (fs::directory_iterator at(base, none), end; !none && at != end; at.increment(none)) {
            auto const name = at->path().filename().string();
            if (std::any_of(prefixes.begin(), prefixes.end(),
                            [&](auto const& each) { return name.starts_with(each); }))
                found.push_back(at->path().string());
        }
    }
    return found;
}

// Does not take the lock, since that would make the owner's attempt fail.
bool is_locked(std::string const& file) {
    struct ::stat about {};
    if (::stat(file.c_str(), &about) != 0) return false;
    auto const wanted = text(":", about.st_ino);
    std::istringstream lines(read_whole("/proc/locks"));
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string word;
        while (words >> word)
            if (word.ends_with(wanted)) return true;
    }
    return false;
}

// Files that Open MPI, UCX and MPICH leave behind without a cleanup.
std::vector<std::string> mpi_files() {
    return entries({"/dev/shm", "/tmp", own_base()},
                   {"ompi.", "vader_segment", "mpich_shar", "ucx_", "sm_segment", "psm_shm", "pmix",
                    "osc_rdma", "mpich_nem"});
}

bool somebody_uses(std::string const& path) {
    std::error_code none;
    for (fs::directory_iterator at("/proc", none), end; !none && at != end; at.increment(none)) {
        auto const pid = at->path().filename().string();
        if (pid.find_first_not_of("0123456789") != pid.npos) continue;
        auto const command = read_whole(at->path().string() + "/comm");
        for (auto const* launcher : {"mpirun", "orte", "orted", "prte", "hydra"})
            if (command.starts_with(launcher)) return true;  // a session directory of the launcher
        if (read_whole(at->path().string() + "/maps").find(path) != std::string::npos) return true;
        std::error_code closed;
        for (fs::directory_iterator fd(at->path() / "fd", closed), last; !closed && fd != last;
             fd.increment(closed))
            if (fs::read_symlink(fd->path(), closed).string().starts_with(path)) return true;
    }
    return false;
}

std::vector<std::string> orphaned_sockets() {
    std::vector<std::string> found;
    std::istringstream lines(read_whole("/proc/net/unix"));
    std::string const ours = own_base() + "/";
    for (std::string line; std::getline(lines, line);) {
        auto const at = line.find(ours);
        auto const start = line.rfind(' ', at);
        if (at == line.npos || start == line.npos) continue;
        auto const path = line.substr(start + 1);
        if (!fs::exists(fs::path(path).parent_path())) found.push_back(path);
    }
    return found;
}

void reap_adopted() {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {}
}

std::string in_lines(std::vector<std::string> const& words) {
    std::string all;
    for (auto const& word : words) all += "  " + word + "\n";
    return all;
}

}  // namespace

bool eventually(std::function<bool()> const& holds, Seconds limit) {
    auto const until = std::chrono::steady_clock::now() + limit;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

std::vector<std::string> unheld_folders() {
    std::vector<std::string> found;
    for (auto const& folder : entries({own_base()}, {prefix()}))
        if (!is_locked(folder + "/lock") && fs::exists(folder)) found.push_back(folder);
    return found;
}

LeakCheck::LeakCheck() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (auto const& path : mpi_files()) before_.insert(path);
    for (auto const& path : unheld_folders()) before_.insert(path);
}

LeakCheck::~LeakCheck() {
    auto const fresh = [this](std::vector<std::string> found) {
        std::erase_if(found, [this](auto const& path) { return before_.contains(path); });
        return found;
    };
    bool const no_processes = eventually([] {
        reap_adopted();
        return descendants_of(::getpid()).empty();
    });
    if (!no_processes) {
        auto const left = descendants_of(::getpid());
        ADD_FAILURE() << "processes are left:\n" << describe(left);
        for (auto const& each : left) ::kill(each.pid, SIGKILL);
        eventually([] {
            reap_adopted();
            return descendants_of(::getpid()).empty();
        });
    }
    if (!folders_may_stay_ && !eventually([&] { return fresh(unheld_folders()).empty(); }))
        ADD_FAILURE() << "folders are left:\n" << in_lines(fresh(unheld_folders()));
    if (!eventually([] { return orphaned_sockets().empty(); }))
        ADD_FAILURE() << "sockets are left:\n" << in_lines(orphaned_sockets());
    auto const unused = [&] {
        auto left = fresh(mpi_files());
        std::erase_if(left, somebody_uses);
        return left;
    };
    if (!eventually([&] { return unused().empty(); }))
        ADD_FAILURE() << "files of MPI are left:\n" << in_lines(unused());
}

}  // namespace sinew::testing_support
