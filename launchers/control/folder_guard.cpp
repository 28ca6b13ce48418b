// SPDX-License-Identifier: Apache-2.0
#include "launchers/control/folder_guard.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sinew/error.hpp>

#include "src/base/job_folder.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

// Keeps nothing of its parent: not its terminal, its descriptors (whose ends others wait for, and
// with the lock of the folder), or its place, which may be unmounted.
[[noreturn]] void guard(int end, std::string const& folder) {
    ::setsid();
    for (int const number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(number, SIG_IGN);
    ::prctl(PR_SET_NAME, "sinew guard");
    [[maybe_unused]] int const moved = ::chdir("/");
    ::dup2(end, 3);
    int const null = ::open("/dev/null", O_RDWR);
    for (int const standard : {0, 1, 2}) ::dup2(null, standard);
    ::syscall(SYS_close_range, 4U, ~0U, 0U);
    char byte = 0;
    while (::read(3, &byte, 1) < 0 && errno == EINTR) {}
    remove_if_stale(folder);
    ::_exit(0);
}

}  // namespace

FolderGuard::FolderGuard(std::string const& folder) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) == 0) {
        alive_ = UniqueFd(ends[1]);
        UniqueFd const end(ends[0]);
        pid_ = ::fork();
        if (pid_ == 0) guard(end.get(), folder);
        if (pid_ > 0) return;
    }
    throw SystemError(text("a process cannot be started (", std::strerror(errno),
                           "). Is the limit of processes or files (ulimit -u, -n) reached?"),
                      errno);
}

FolderGuard::~FolderGuard() {
    alive_ = {};
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
}

}  // namespace sinew::launch
