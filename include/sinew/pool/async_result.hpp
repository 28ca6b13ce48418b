// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <sinew/detail/pool_sinks.hpp>
#include <sinew/remote_error.hpp>

namespace sinew {

/// What tasks under way will give: a value of type T (for maps a vector), or an exception.
///
/// A copyable handle; any thread. It may outlive the pool, whose destructor waits for its tasks.
/// Dropping it does not cancel.
template <class T>
class AsyncResult {
public:
    using Sink = detail::ResultSink<T>;
    AsyncResult(std::shared_ptr<Sink> sink) : sink_(std::move(sink)) {}

    /// Waits, and gives the value, or throws what the task threw (of a map: the failing task with the
    /// lowest index). Again and again; from an rvalue, the value is moved out.
    T get() const& {
        wait();
        return sink_->value();
    }
    T get() && {
        wait();
        return sink_->take();
    }
    /// Throws Timeout when there is nothing by then; cancels nothing.
    T get(std::chrono::nanoseconds limit) const {
        if (!wait_for(limit)) sink_->throw_timeout(limit);
        return sink_->value();
    }
    void wait() const { sink_->wait(); }
    bool wait_for(std::chrono::nanoseconds limit) const { return sink_->wait_for(limit); }
    bool ready() const { return sink_->ready(); }
    /// Throws UsageError unless ready.
    bool successful() const { return sink_->successful(); }
    /// What get() throws; null where there is a value. Throws UsageError unless ready.
    std::exception_ptr error() const { return sink_->successful() ? nullptr : sink_->error(); }
    /// It is there, and Cancelled.
    bool cancelled() const { return sink_->cancelled(); }
    /// What has not begun never will; what runs is asked to stop (this_task::stop_token()), and its
    /// worker is killed if it has not ended after PoolOptions::cancel_grace. The result is then
    /// Cancelled, unless it was there already: also where a task ends by itself, or throws, meanwhile.
    void cancel() const { sink_->cancel(); }
    /// Calls `on_value(T)` or `on_error(std::exception_ptr)` when it is there, on the pool's callback
    /// thread, which may use the pool. Exceptions they throw are logged.
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

/// The outcome of one task of map_settled: a value or an exception.
template <class T>
class Settled {
public:
    using Value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;
    Settled() = default;  ///< empty: has neither
    explicit Settled(Value value) : value_(std::move(value)) {}
    explicit Settled(std::exception_ptr error) : error_(std::move(error)) {}

    bool has_value() const { return value_.has_value(); }
    explicit operator bool() const { return has_value(); }
    /// Throws the exception when there is no value.
    Value const& value() const {
        if (error_) std::rethrow_exception(error_);
        return value_.value();
    }
    /// The same, to be moved from.
    Value& take() {
        value();
        return *value_;
    }
    Value const& operator*() const { return value(); }
    std::exception_ptr error() const { return error_; }

private:
    std::optional<Value> value_;
    std::exception_ptr error_;
};

}  // namespace sinew
