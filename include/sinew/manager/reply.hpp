// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <sinew/error.hpp>
#include <sinew/remote_error.hpp>
#include <sinew/task/encoding.hpp>

namespace sinew {

/// The object that was called is gone: its process has died, or all its handles were released.
/// what() reports how, and where it lived.
class ObjectLost : public Error {
public:
    ObjectLost(std::string const& what, bool maybe_executed)
        : Error(what), maybe_executed_(maybe_executed) {}
    /// Whether the call had been sent, so that it may have been executed in part or as a whole.
    /// False: it was certainly not executed.
    bool maybe_executed() const noexcept { return maybe_executed_; }

private:
    bool maybe_executed_;
};

/// The object's process has died and is being restarted (see ManagerOptions::max_restarts). The
/// object is made again from its constructor arguments or its last checkpoint; Object::refresh()
/// gives a handle of it. what() reports how the old process died.
class ObjectRestarted : public ObjectLost {
public:
    using ObjectLost::ObjectLost;
};

namespace detail {

class ObjectEnd;
struct TaskEntry;

enum class CallKind : std::uint8_t {
    plain,
    gives_object,  ///< the result is a handle that may be called before it has arrived
    oneway,
};

/// Whether a result is a handle.
template <class R>
inline constexpr bool is_handle = false;
template <class R>
inline constexpr CallKind kind_of = is_handle<R> ? CallKind::gives_object : CallKind::plain;

/// A call in flight, and later its outcome. Thread-safe.
class PendingCall {
public:
    virtual ~PendingCall() = default;
    virtual bool ready() const = 0;
    /// Returns false at the deadline.
    virtual bool wait_until(std::chrono::steady_clock::time_point deadline) = 0;
    /// The encoded result; requires ready(). Throws what the call threw, ObjectLost, or Cancelled.
    virtual Reader result() = 0;
    virtual bool failed() = 0;
    virtual void cancel() = 0;
    virtual void withdraw() = 0;
    /// The result as a handle of an object of type `type`; requires ready(). Throws as result().
    virtual std::shared_ptr<ObjectEnd> object(char const* type) = 0;
    /// Calls a method of the object of type `type` that this call will return.
    virtual std::shared_ptr<PendingCall> then_call(TaskEntry const& method, Writer& arguments,
                                                   char const* type, CallKind kind) = 0;
    [[noreturn]] virtual void throw_timeout(std::chrono::nanoseconds limit) = 0;
};

/// The functions that all replies have in common.
template <class R>
class ReplyTo {
public:
    explicit ReplyTo(std::shared_ptr<PendingCall> call) : call_(std::move(call)) {}

    /// Blocks until the value has arrived and returns it; may be called repeatedly. Throws what the
    /// method threw (by its std type if that is known), ObjectLost if the object's process died, or
    /// Cancelled.
    R get() const {
        wait();
        return value();
    }
    /// As get(), for at most `limit`. Throws Timeout if there is no outcome by then; the call
    /// continues.
    R get(std::chrono::nanoseconds limit) const {
        if (!wait_for(limit)) call_->throw_timeout(limit);
        return value();
    }
    void wait() const { call_->wait_until(std::chrono::steady_clock::time_point::max()); }
    /// Blocks for at most `limit`; returns whether the outcome has arrived. Does not throw the
    /// call's error.
    bool wait_for(std::chrono::nanoseconds limit) const {
        auto const now = std::chrono::steady_clock::now();
        auto const end = std::chrono::steady_clock::time_point::max();
        return call_->wait_until(limit > end - now ? end : now + limit);
    }
    bool ready() const { return call_->ready(); }
    /// Blocks until the outcome has arrived; returns whether it is a value.
    bool successful() const {
        wait();
        return !call_->failed();
    }
    /// Blocks until the outcome has arrived; returns the exception that get() throws, or null.
    std::exception_ptr error() const {
        if (successful()) return nullptr;
        try {
            call_->result();
        } catch (...) {
            return std::current_exception();
        }
        return nullptr;
    }
    /// Cancels a call that has not begun; get() then throws Cancelled. A call that has begun is not
    /// affected, unless the object answers it later (Deferred).
    void cancel() const { call_->cancel(); }
    /// Withdraws the call after its method was executed: get() throws Cancelled unless the object
    /// answers at once. Affects only methods that return Deferred.
    void withdraw() const { call_->withdraw(); }

protected:
    std::shared_ptr<PendingCall> const& pending() const { return call_; }

private:
    R value() const {
        if constexpr (is_handle<R>) {
            return R(call_->object(R::type_name()));
        } else {
            [[maybe_unused]] Reader reader = call_->result();
            if constexpr (!std::is_void_v<R>) return decode<R>(reader);
        }
    }
    std::shared_ptr<PendingCall> call_;
};

}  // namespace detail

/// The outcome of a call of an object in another process: a value of type R, or an exception.
///
/// A copyable handle. Outcomes can be read in any order. Destroying a handle does not cancel the
/// call. A reply that is an Object can be called at once: see Reply<Object<T>>. Thread-safe.
template <class R>
class Reply : public detail::ReplyTo<R> {
public:
    using detail::ReplyTo<R>::ReplyTo;
};

/// Waits for `limit`, and then withdraws the call (see Reply::withdraw), which takes one answer of
/// the manager. Returns nothing (for void: false) if the object did not answer in time; it is then
/// certain that it will not answer. A value that arrives meanwhile is returned. A limit of 0 asks
/// once. A method that does not return Deferred is waited for without limit. Throws as
/// Reply::get().
template <class R>
auto get_within(Reply<R> const& reply, std::chrono::nanoseconds limit)
    -> std::conditional_t<std::is_void_v<R>, bool, std::optional<R>> {
    if (!reply.wait_for(limit)) reply.withdraw();
    try {
        if constexpr (!std::is_void_v<R>) return reply.get();
        else return reply.get(), true;
    } catch (Cancelled const& error) {
        if (dynamic_cast<RemoteException const*>(&error) != nullptr) throw;  // of the method itself
        return {};
    }
}

}  // namespace sinew
