// SPDX-License-Identifier: Apache-2.0
#include "src/lease/locks/process_fd.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <sinew/error.hpp>
#include <utility>

namespace sinew::lease {
namespace {

// What a forked child has to undo. Lock-free, since a fork may happen in any thread at any time.
struct OfThisProcess {
    std::array<std::atomic<int>, ProcessFd::most> files;
    std::atomic<bool> has_lease{false};
    std::atomic<unsigned> generation{0};
    OfThisProcess() {
        for (auto& file : files) file = -1;
    }
};

OfThisProcess& of_this_process() {
    static OfThisProcess state;
    return state;
}

extern "C" void sinew_lease_forget_in_child() {
    auto& state = of_this_process();
    for (auto& file : state.files) {
        int const fd = file.exchange(-1);
        if (fd >= 0) ::close(fd);
    }
    state.has_lease = false;
    ++state.generation;
}

OfThisProcess& watched() {
    auto& state = of_this_process();
    static int const registered = ::pthread_atfork(nullptr, nullptr, &sinew_lease_forget_in_child);
    if (registered != 0)
        throw SystemError("a lease needs pthread_atfork, which failed (no memory?)", registered);
    return state;
}

}  // namespace

unsigned fork_generation() noexcept { return of_this_process().generation; }

ProcessFd::ProcessFd(int fd) : fd_(fd) {
    auto& state = watched();
    generation_ = state.generation;
    for (int place = 0; place < most; ++place) {
        int none = -1;
        if (state.files[static_cast<std::size_t>(place)].compare_exchange_strong(none, fd)) {
            place_ = place;
            return;
        }
    }
    ::close(fd);
    throw SystemError("too many threads acquire leases at the same time", EMFILE);
}

ProcessFd::ProcessFd(ProcessFd&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), place_(other.place_), generation_(other.generation_) {}

ProcessFd& ProcessFd::operator=(ProcessFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(place_, other.place_);
    std::swap(generation_, other.generation_);
    return *this;
}

ProcessFd::~ProcessFd() {
    if (fd_ < 0 || generation_ != fork_generation()) return;
    int const fd = fd_;
    release();
    ::close(fd);
}

int ProcessFd::release() noexcept {
    int const fd = std::exchange(fd_, -1);
    if (fd >= 0 && generation_ == fork_generation())
        of_this_process().files[static_cast<std::size_t>(place_)] = -1;
    return fd;
}

OnlyLease::OnlyLease() : generation_(0) {
    auto& state = watched();
    if (state.has_lease.exchange(true))
        throw UsageError(
            "this process has a lease already, or waits for one. Release it first, or ask for "
            "everything in one request: who waits while it holds something may wait for ever");
    generation_ = state.generation;
}

OnlyLease::OnlyLease(OnlyLease&& other) noexcept
    : has_(std::exchange(other.has_, false)), generation_(other.generation_) {}

OnlyLease::~OnlyLease() {
    if (has_ && generation_ == fork_generation()) of_this_process().has_lease = false;
}

}  // namespace sinew::lease
