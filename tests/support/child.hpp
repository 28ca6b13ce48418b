// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <system_error>
#include <utility>

namespace sinew::testing_support {

/// A fork of the test that runs `body` and exits with its result. The destructor kills it and waits
/// for it. Fork before any thread is started.
class Child {
public:
    explicit Child(std::function<int()> const& body) : pid_(::fork()) {
        if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
        if (pid_ == 0) ::_exit(body());
    }
    Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
    Child& operator=(Child&&) = delete;
    ~Child() {
        if (pid_ < 0) return;
        kill(SIGKILL);
        wait();
    }

    pid_t pid() const { return pid_; }
    void kill(int signal) const { ::kill(pid_, signal); }
    /// Blocks until it has ended; returns the status as of waitpid(2).
    int wait() {
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {}
        pid_ = -1;
        return status;
    }

private:
    pid_t pid_;
};

}  // namespace sinew::testing_support
