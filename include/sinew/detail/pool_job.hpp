// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <sinew/detail/call.hpp>
#include <sinew/pool/options.hpp>

namespace sinew::detail {

/// Encoded arguments of consecutive tasks.
class ArgumentBlock {
public:
    /// Marks the end of the next task's arguments at the writer's current size.
    void task_ended() {
        auto const end = bytes.size();
        if (ends_.empty()) {
            if (count_ == 0) stride_ = end;
            if (end == (count_ + 1) * stride_) {
                ++count_;
                return;
            }
            for (std::uint64_t i = 1; i <= count_; ++i) ends_.push_back(i * stride_);
        }
        ends_.push_back(end);
        ++count_;
    }
    std::uint64_t count() const { return count_; }
    /// The arguments of tasks first .. first+count-1 of this block.
    std::span<std::byte const> of(std::uint64_t first, std::uint64_t count) const {
        auto const begin = end_of(first), end = end_of(first + count);
        return bytes.bytes().subspan(begin, end - begin);
    }
    Writer bytes;

private:
    std::uint64_t end_of(std::uint64_t tasks) const {
        return ends_.empty() ? tasks * stride_ : tasks == 0 ? 0 : ends_[tasks - 1];
    }
    std::uint64_t count_ = 0, stride_ = 0;
    std::vector<std::uint64_t> ends_;  ///< empty while all have the same size
};

/// Receives the results of a job. Called with the pool's guard held; must not throw.
class JobSink {
public:
    virtual ~JobSink() = default;
    /// Results of tasks first .. first+count-1, encoded consecutively. If a result cannot be
    /// decoded, it and all later ones have failed, and the exception is returned: nothing more may
    /// be read from `values`, since the start of the next result is unknown. Returns null if all
    /// were decoded.
    [[nodiscard]] virtual std::exception_ptr results(std::uint64_t first, std::uint32_t count,
                                                     Reader& values) = 0;
    virtual void failed(std::uint64_t index, std::exception_ptr error) = 0;
    virtual void dropped(std::uint64_t first, std::uint64_t count) = 0;
    /// Every task has ended in one of these ways.
    virtual void ended() = 0;
};

struct JobSpec {
    std::uint64_t job = 0;  ///< from new_job()
    TaskEntry const* function = nullptr;
    Writer state;  ///< state of the function object
    TaskOptions options;
    bool stop_at_failure = true;
    bool complete = true;  ///< false: `grow` adds more tasks
    std::shared_ptr<ArgumentBlock> arguments;
    std::shared_ptr<JobSink> sink;
};

/// The part of a pool that does not depend on types: see src/pool/master/master.hpp.
class PoolMaster {
public:
    virtual ~PoolMaster() = default;
    /// The guard of jobs, sinks and workers.
    virtual std::mutex& guard() = 0;
    virtual std::uint64_t new_job() = 0;
    /// Requires: guard not held. Throws UsageError after close(), PoolBroken.
    virtual void submit(JobSpec spec) = 0;
    virtual void grow(std::uint64_t job, std::shared_ptr<ArgumentBlock> more, bool complete) = 0;
    virtual void cancel(std::uint64_t job) = 0;
    /// Calls `work` on the pool's callback thread, where it may use the pool.
    virtual void later(std::function<void()> work) = 0;
    /// Blocks on `changed` until `done()` or the deadline; returns false at the deadline. Requires:
    /// guard held by `lock`. Drives the pool's links meanwhile if that saves a hand-over between
    /// threads.
    virtual bool wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                      std::chrono::steady_clock::time_point deadline,
                      std::function<bool()> const& done) = 0;
    /// Wakes all threads that wait for `changed`. Requires: guard held.
    virtual void notify(std::condition_variable& changed) = 0;
};

}  // namespace sinew::detail
