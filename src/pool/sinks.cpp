// SPDX-License-Identifier: Apache-2.0
#include <sinew/detail/deadline.hpp>
#include <sinew/detail/pool_sinks.hpp>
#include <sinew/error.hpp>
#include <sinew/remote_error.hpp>

#include "src/base/text.hpp"

namespace sinew::detail {

namespace {

using Clock = std::chrono::steady_clock;

double seconds(std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
}

}  // namespace

void WaitableSink::attach(std::shared_ptr<PoolMaster> master, std::uint64_t job) {
    master_ = std::move(master);
    job_ = job;
}

void WaitableSink::wait() {
    // The pool's failure detectors see to it that every job ends.
    wait_for(std::chrono::nanoseconds::max());
}

bool WaitableSink::wait_for(std::chrono::nanoseconds limit) {
    std::unique_lock lock(master_->guard());
    return master_->wait(lock, changed_, detail::deadline_after(limit), [this] { return ready(); });
}

bool WaitableSink::successful() {
    std::lock_guard const lock(master_->guard());
    if (!ready())
        throw UsageError("successful() was called on tasks that are under way. Call wait() first");
    return !error_ && !dropped_;
}

void WaitableSink::cancel() { master_->cancel(job_); }

bool WaitableSink::cancelled() {
    if (!ready()) return false;
    auto const problem = error();
    if (!problem) return false;
    try {
        std::rethrow_exception(problem);
    } catch (Cancelled const&) {
        return true;
    } catch (...) {
        return false;
    }
}

void WaitableSink::when_ended(std::function<void()> work) {
    {
        std::lock_guard const lock(master_->guard());
        if (!ready()) return callbacks_.push_back(std::move(work));
    }
    master_->later(std::move(work));
}

std::exception_ptr WaitableSink::error() {
    std::lock_guard const lock(master_->guard());
    if (!error_ && dropped_)
        return std::make_exception_ptr(Cancelled("the task was cancelled, or its pool ended"));
    return error_;
}

void WaitableSink::throw_timeout(std::chrono::nanoseconds limit) const {
    throw Timeout(text("no result after ", seconds(limit),
                       " s; the task continues. Wait again, or cancel()"));
}

void throw_wait_limit(std::chrono::nanoseconds limit) {
    throw Timeout(text("no result after ", seconds(limit),
                       " s (TaskOptions::wait_limit); the tasks are cancelled"));
}

void WaitableSink::throw_move_only() {
    throw UsageError("the value cannot be copied. Take it: std::move(result).get()");
}

void WaitableSink::check_value() {
    if (!ready())
        throw UsageError(
            "the value of tasks that are under way is not available. Call wait() first");
    if (auto const problem = error()) std::rethrow_exception(problem);
}

void WaitableSink::failed(std::uint64_t index, std::exception_ptr error) {
    if (error_ && failing_ <= index) return;
    error_ = std::move(error);
    failing_ = index;
}

void WaitableSink::dropped(std::uint64_t, std::uint64_t) { dropped_ = true; }

void WaitableSink::ended() {
    ended_.store(true, std::memory_order_release);
    master_->notify(changed_);
    for (auto& work : std::exchange(callbacks_, {})) master_->later(std::move(work));
}

}  // namespace sinew::detail
