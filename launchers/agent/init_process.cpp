// SPDX-License-Identifier: Apache-2.0
#include "launchers/agent/init_process.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sinew/error.hpp>

#include "launchers/agent/descendants.hpp"
#include "launchers/common/exit_codes.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

pid_t init_process = 0;

// The signals that ask a process to end, and those that a user sends to a job.
sigset_t requests() {
    sigset_t some;
    ::sigemptyset(&some);
    for (int const number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) ::sigaddset(&some, number);
    return some;
}

// Waits until `child` has ended and returns its wait status; forwards signals to it.
int watch(pid_t child, sigset_t const& all) {
    for (;;) {
        siginfo_t info{};
        if (::sigwaitinfo(&all, &info) < 0) continue;
        if (info.si_signo != SIGCHLD) {
            ::kill(child, info.si_signo);
            // A stopped child could not clean up.
            if (info.si_signo == SIGTERM) ::kill(child, SIGCONT);
            continue;
        }
        // One SIGCHLD may stand for several children, including orphans of the job.
        int status = 0;
        pid_t pid = 0;
        while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0)
            if (pid == child) return status;
    }
}

}  // namespace

bool init_process_is_gone() { return ::getppid() != init_process; }

void accept_signals() {
    if (init_process == 0) return;
    sigset_t const some = requests();
    ::sigprocmask(SIG_UNBLOCK, &some, nullptr);
}

int guarded(JobFolder& folder, std::string const& name, std::function<int()> const& work) {
    sigset_t all, before;
    ::sigfillset(&all);
    for (int const fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
        ::sigdelset(&all, fault);
    ::sigprocmask(SIG_BLOCK, &all, &before);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    init_process = ::getpid();
    pid_t const child = ::fork();
    if (child < 0)
        throw SystemError(text("fork failed (", std::strerror(errno), "). See ulimit -u"), errno);
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGHUP);
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
        // A signal that was forwarded before `work` can handle it would end this process, which
        // would look like a failure. It waits for accept_signals().
        sigset_t const some = requests();
        ::sigorset(&before, &before, &some);
        ::sigprocmask(SIG_SETMASK, &before, nullptr);
        if (init_process_is_gone()) ::_exit(exit_launcher_failed);
        // _exit runs no destructors: the folder and its lock belong to the init process.
        ::_exit(work());
    }
    int const status = watch(child, all);
    kill_descendants();
    folder.remove();
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    log_warning(text("agent on ", name, " was killed by signal ", WTERMSIG(status), " (",
                     ::strsignal(WTERMSIG(status)), "); its ranks were ended"));
    return exit_launcher_failed;
}

}  // namespace sinew::launch
