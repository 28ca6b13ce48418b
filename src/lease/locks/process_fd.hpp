// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sinew::lease {

/// Owns a file descriptor that this process alone is to have: it is closed on exec, and a forked
/// child closes its copy before fork() returns there. In such a child the object does nothing, since
/// its number may meanwhile be another file's. There can be at most `most` in a process.
class ProcessFd {
public:
    static constexpr int most = 64;

    ProcessFd() = default;
    /// Takes the descriptor over. Throws SystemError if there are too many.
    explicit ProcessFd(int fd);
    ProcessFd(ProcessFd&& other) noexcept;
    ProcessFd& operator=(ProcessFd&& other) noexcept;
    ~ProcessFd();

    int get() const { return fd_; }
    /// Gives the descriptor up; a child that is forked from now on has it, too.
    int release() noexcept;

private:
    int fd_ = -1;
    int place_ = -1;
    unsigned generation_ = 0;
};

/// How many forks lie between the first process of the program and this one.
unsigned fork_generation() noexcept;

/// This process's right to have a lease, or to wait for one. A forked child has its own.
class OnlyLease {
public:
    /// Throws UsageError if another object has it.
    OnlyLease();
    OnlyLease(OnlyLease&& other) noexcept;
    OnlyLease& operator=(OnlyLease&& other) = delete;
    ~OnlyLease();

private:
    bool has_ = true;
    unsigned generation_;
};

}  // namespace sinew::lease
