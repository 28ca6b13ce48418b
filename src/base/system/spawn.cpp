// SPDX-License-Identifier: Apache-2.0
#include "src/base/system/spawn.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <sinew/error.hpp>

#include "src/base/system/io.hpp"
#include "src/base/text.hpp"

namespace sinew {
namespace {

std::vector<char*> pointers(std::vector<std::string> const& words) {
    std::vector<char*> found;
    for (auto const& word : words) found.push_back(const_cast<char*>(word.c_str()));
    found.push_back(nullptr);
    return found;
}

// Everything the child needs, prepared in advance: between vfork and exec it must not allocate.
struct Plan {
    SpawnRequest const& request;
    std::vector<char*> argv, env;
    pid_t parent;
    int null;
    // Written by the child, which shares our memory. The compiler sees stores that are not read
    // before _exit; clang omits them unless they are volatile.
    int volatile error = 0;
    char const* volatile step = "";
};

bool fail(Plan& plan, char const* step) {
    plan.error = errno;
    plan.step = step;
    return false;
}

// Moves the standard streams to descriptors 0, 1 and 2, whatever their numbers are.
bool redirect(Plan& plan) {
    auto const& request = plan.request;
    std::array<int, 3> from{request.in >= 0 ? request.in : plan.null, request.out, request.err};
    for (int& fd : from)
        if (fd >= 0 && fd < 3) fd = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
    for (int target = 0; target < 3; ++target)
        if (from[target] >= 0 && ::dup2(from[target], target) < 0) return fail(plan, "dup2");
    if (request.only_kept) ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    for (int const fd : request.keep)
        if (::fcntl(fd, F_SETFD, 0) != 0) return fail(plan, "fcntl");
    return true;
}

void reset_signals() {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number) ::sigaction(number, &standard, nullptr);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Runs in the child.
bool prepare(Plan& plan) {
    ::setpgid(0, 0);
    if (plan.request.death_signal != 0) {
        if (::prctl(PR_SET_PDEATHSIG, plan.request.death_signal) != 0) return fail(plan, "prctl");
        if (::getppid() != plan.parent) ::_exit(1);  // the parent ended before prctl
    }
    if (plan.request.cpus && ::sched_setaffinity(0, sizeof(cpu_set_t), &*plan.request.cpus) != 0)
        return fail(plan, "bind to its cores");
    if (plan.request.group >= 0 && ::write(plan.request.group, "0", 1) != 1)
        return fail(plan, "move to its cgroup");
    if (!plan.request.folder.empty() && ::chdir(plan.request.folder.c_str()) != 0)
        return fail(plan, "chdir to");
    if (!redirect(plan)) return false;
    reset_signals();
    return true;
}

std::string describe(Plan const& plan) {
    std::string const step = plan.step;
    if (step == "chdir to") return text("change to the folder ", plan.request.folder);
    if (step == "exec") return text("execute ", plan.request.path);
    return step;
}

// Kills and reaps a child whose end could not be noticed without a pidfd. Throws SystemError.
[[noreturn]] void give_up_watching(pid_t pid, int error) {
    int status = 0;
    ::kill(pid, SIGKILL);
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    throw_errno(text("pidfd_open of pid ", pid, " failed"),
                "It needs Linux 5.3 or later, and a free descriptor (ulimit -n)", error);
}

// Sets SIGCHLD to its default if it is ignored (inherited through exec, for example from a shell
// after trap '' CHLD): the kernel would discard the exit codes of children.
void keep_exit_codes() {
    struct sigaction now {};
    if (::sigaction(SIGCHLD, nullptr, &now) != 0) return;
    bool const ignored = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN;
    if (!ignored && (now.sa_flags & SA_NOCLDWAIT) == 0) return;
    if (ignored) now.sa_handler = SIG_DFL;
    now.sa_flags &= ~SA_NOCLDWAIT;
    ::sigaction(SIGCHLD, &now, nullptr);
}

}  // namespace

Spawned spawn(SpawnRequest const& request) {
    keep_exit_codes();
    UniqueFd const null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    Plan plan{.request = request,
              .argv = pointers(request.argv),
              .env = pointers(request.env),
              .parent = ::getpid(),
              .null = null.get()};

    // No handler of ours may run in the child while it shares our memory.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    pid_t const pid = ::vfork();
#pragma GCC diagnostic pop
    if (pid == 0) {
        if (prepare(plan)) {
            ::execve(request.path.c_str(), plan.argv.data(), plan.env.data());
            fail(plan, "exec");
        }
        ::_exit(127);
    }
    int const fork_error = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (pid < 0) return {.error = fork_error, .step = "fork"};
    if (plan.error != 0) {
        int status = 0;
        while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
        return {.error = plan.error, .step = describe(plan)};
    }
    ::setpgid(pid, pid);  // the child does the same; the first call of the two takes effect
    Spawned spawned{.pid = pid};
    spawned.ended = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!spawned.ended) give_up_watching(pid, errno);
    return spawned;
}

std::pair<UniqueFd, UniqueFd> make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno("pipe failed", "See ulimit -n");
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

bool reap(pid_t pid, int& status) {
    pid_t found = 0;
    while ((found = ::waitpid(pid, &status, WNOHANG)) < 0 && errno == EINTR) {}
    return found == pid;
}

}  // namespace sinew
