// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/own_session.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <sinew/error.hpp>

namespace sinew::bench {

namespace {

/// Ends as the child ends.
[[noreturn]] void stand_in_for(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (WIFSIGNALED(status)) {
        std::signal(WTERMSIG(status), SIG_DFL);
        ::raise(WTERMSIG(status));
    }
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

}  // namespace

void begin_own_session() {
    if (::setsid() >= 0) return;
    pid_t const parent = ::getpid();
    pid_t const child = ::fork();
    if (child < 0) throw SystemError("--own-session: fork failed", errno);
    if (child > 0) stand_in_for(child);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // it was killed before the line above
    if (::setsid() < 0) throw SystemError("--own-session: setsid failed", errno);
}

}  // namespace sinew::bench
