// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <sinew/detail/pool_sinks.hpp>
#include <sinew/remote_error.hpp>

namespace sinew {

/// The outcome of tasks in flight: a value of type T (a vector for maps), or an exception.
///
/// A copyable handle. It may outlive the pool, whose destructor waits for its tasks. Destroying a
/// handle does not cancel the tasks. Thread-safe.
template <class T>
class AsyncResult {
public:
    using Sink = detail::ResultSink<T>;
    AsyncResult(std::shared_ptr<Sink> sink) : sink_(std::move(sink)) {}

    /// Blocks until the outcome has arrived and returns the value; may be called repeatedly. From
    /// an rvalue, the value is moved out. Throws what the task threw; for a map, what the failing
    /// task with the lowest index threw.
    T get() const& {
        wait();
        return sink_->value();
    }
    T get() && {
        wait();
        return sink_->take();
    }
    /// As get(), for at most `limit`. Throws Timeout if there is no outcome by then; the tasks
    /// continue.
    T get(std::chrono::nanoseconds limit) const {
        if (!wait_for(limit)) sink_->throw_timeout(limit);
        return sink_->value();
    }
    void wait() const { sink_->wait(); }
    bool wait_for(std::chrono::nanoseconds limit) const { return sink_->wait_for(limit); }
    bool ready() const { return sink_->ready(); }
    /// Whether the outcome is a value. Throws UsageError unless ready().
    bool successful() const { return sink_->successful(); }
    /// The exception that get() throws, or null. Throws UsageError unless ready().
    std::exception_ptr error() const { return sink_->successful() ? nullptr : sink_->error(); }
    /// Whether the outcome has arrived and is Cancelled.
    bool cancelled() const { return sink_->cancelled(); }
    /// Drops tasks that have not begun, and asks running ones to stop (this_task::stop_token()); a
    /// worker whose task has not ended after PoolOptions::cancel_grace is killed. The outcome is
    /// Cancelled unless it had arrived before, also if a task meanwhile returns or throws.
    void cancel() const { sink_->cancel(); }
    /// Calls `on_value(T)` or `on_error(std::exception_ptr)` when the outcome has arrived, on the
    /// pool's callback thread; the functions may use the pool. Exceptions that they throw are
    /// logged.
    template <class OnValue>
    void then(OnValue on_value, std::function<void(std::exception_ptr)> on_error = {}) const {
        sink_->when_ended(
            [sink = sink_, on_value = std::move(on_value), on_error = std::move(on_error)] {
                if (auto const error = sink->error()) {
                    if (on_error) on_error(error);
                } else if constexpr (std::is_void_v<T>) {
                    on_value();
                } else {
                    on_value(sink->value());
                }
            });
    }

private:
    std::shared_ptr<Sink> sink_;
};

/// The outcome of one task of map_settled: a value or an exception. Not thread-safe.
template <class T>
class Settled {
public:
    using Value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;
    Settled() = default;  ///< empty: neither a value nor an exception
    explicit Settled(Value value) : value_(std::move(value)) {}
    explicit Settled(std::exception_ptr error) : error_(std::move(error)) {}

    bool has_value() const { return value_.has_value(); }
    explicit operator bool() const { return has_value(); }
    /// Returns the value, or throws the exception.
    Value const& value() const {
        if (error_) std::rethrow_exception(error_);
        return value_.value();
    }
    /// As value(), for moving out of it.
    Value& take() {
        value();
        return *value_;
    }
    Value const& operator*() const { return value(); }
    /// The exception; null if there is none.
    std::exception_ptr error() const { return error_; }

private:
    std::optional<Value> value_;
    std::exception_ptr error_;
};

}  // namespace sinew
