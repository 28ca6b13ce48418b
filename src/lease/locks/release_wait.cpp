// SPDX-License-Identifier: Apache-2.0
#include "src/lease/locks/release_wait.hpp"

#include <fcntl.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <list>
#include <mutex>
#include <sinew/error.hpp>

#include "src/base/system/io.hpp"
#include "src/base/system/signals_blocked.hpp"

namespace sinew::lease {
namespace {

constexpr std::size_t most_threads = 64;
constexpr std::chrono::milliseconds look_again_after{100};
constexpr std::size_t stack_bytes = 256 * 1024;

/// What the threads of a wait report.
struct Report {
    std::mutex mutex;
    std::condition_variable_any changed;
    bool released = false;
    int error = 0;
};

struct Watch {
    int fd;
    ByteRange range;
    Report& report;
    ::pthread_t thread{};
};

// Cancelled only inside of the system call, which owns nothing. It is not marked noexcept, because
// the cancellation unwinds it.
int lock_cancellably(int fd, struct ::flock* lock) {
    int before = 0;
    ::pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
    ::pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
    int const result = ::fcntl(fd, F_OFD_SETLKW, lock);
    int const error = errno;
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    ::pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before);
    return result == 0 ? 0 : error;
}

void* watch_lock(void* argument) {
    auto& watch = *static_cast<Watch*>(argument);
    int error = 0;
    do {
        struct ::flock lock {};
        lock.l_type = F_RDLCK;
        lock.l_whence = SEEK_SET;
        lock.l_start = watch.range.begin;
        lock.l_len = watch.range.end - watch.range.begin;
        error = lock_cancellably(watch.fd, &lock);
    } while (error == EINTR);
    std::lock_guard const guard(watch.report.mutex);
    watch.report.released = true;
    watch.report.error = std::max(watch.report.error, error);
    watch.report.changed.notify_all();
    return nullptr;
}

/// The threads that watch locks; ended by the destructor.
class Watches {
public:
    Watches(LockFile const& watcher, std::vector<ByteRange> const& locks, Report& report)
        : watcher_(watcher) {
        ::pthread_attr_t attributes;
        ::pthread_attr_init(&attributes);
        ::pthread_attr_setstacksize(&attributes, stack_bytes);
        SignalsBlocked const blocked;
        for (auto const& range : locks) {
            if (watches_.size() == most_threads) break;
            watches_.push_back({watcher.fd(), range, report});
            int const error = ::pthread_create(&watches_.back().thread, &attributes, watch_lock,
                                               &watches_.back());
            if (error == 0) continue;
            watches_.pop_back();
            if (!watches_.empty()) break;  // the others are watched in turn
            ::pthread_attr_destroy(&attributes);
            throw_errno("a thread that waits for a lease cannot be started",
                        "Raise the limit of processes (ulimit -u)", error);
        }
        ::pthread_attr_destroy(&attributes);
    }
    Watches(Watches const&) = delete;
    ~Watches() {
        for (auto& watch : watches_) ::pthread_cancel(watch.thread);
        for (auto& watch : watches_) ::pthread_join(watch.thread, nullptr);
        watcher_.unlock_all();
    }
    std::size_t count() const { return watches_.size(); }

private:
    LockFile const& watcher_;
    std::list<Watch> watches_;  // the threads have their addresses
};

}  // namespace

WaitEnd wait_for_release(LockFile const& watcher, std::vector<ByteRange> const& locks,
                         WaitLimits const& limits) {
    Report report;
    Watches const watches(watcher, locks, report);
    using Clock = std::chrono::steady_clock;
    auto const none = Clock::time_point::max();
    auto const look_again =
        watches.count() < locks.size() || locks.empty() ? Clock::now() + look_again_after : none;
    auto const until = std::min(limits.deadline.value_or(none), look_again);
    std::unique_lock lock(report.mutex);
    auto const released = [&] { return report.released; };
    bool woken = false;
    if (until == none) woken = report.changed.wait(lock, limits.stop, released);
    else woken = report.changed.wait_until(lock, limits.stop, until, released);
    int const error = report.error;
    lock.unlock();
    if (error != 0) throw_errno(watcher.path() + " cannot be locked", {}, error);
    if (woken) return WaitEnd::released;
    if (limits.stop.stop_requested()) return WaitEnd::stopped;
    return until == look_again ? WaitEnd::released : WaitEnd::deadline;
}

}  // namespace sinew::lease
