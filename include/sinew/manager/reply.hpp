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

/// The object that was called is gone: its process has died, or it was let go by all. what() tells
/// how, and where it lived.
class ObjectLost : public Error {
public:
    ObjectLost(std::string const& what, bool maybe_executed)
        : Error(what), maybe_executed_(maybe_executed) {}
    /// The call had been sent, and may have been executed, wholly or in part, before. False: it surely
    /// was not.
    bool maybe_executed() const noexcept { return maybe_executed_; }

private:
    bool maybe_executed_;
};

/// The process of the object has died, and its maker starts another (see ManagerOptions::max_restarts)
/// in which the object is made again: from the arguments of its constructor, or as the last checkpoint
/// has it. Object::refresh() gives a handle of that one. what() tells how the old one died.
class ObjectRestarted : public ObjectLost {
public:
    using ObjectLost::ObjectLost;
};

namespace detail {

class ObjectEnd;
struct TaskEntry;

enum class CallKind : std::uint8_t {
    plain,
    gives_object,  ///< its result is a handle, which may be called before it is there
    oneway,
};

/// Results that are handles.
template <class R>
inline constexpr bool is_handle = false;
template <class R>
inline constexpr CallKind kind_of = is_handle<R> ? CallKind::gives_object : CallKind::plain;

/// A call under way, and later what came of it. Any thread.
class PendingCall {
public:
    virtual ~PendingCall() = default;
    virtual bool ready() const = 0;
    /// False: not by then.
    virtual bool wait_until(std::chrono::steady_clock::time_point deadline) = 0;
    /// Of a ready one: the encoded result. Throws what the call threw, ObjectLost, Cancelled.
    virtual Reader result() = 0;
    virtual bool failed() = 0;
    virtual void cancel() = 0;
    virtual void withdraw() = 0;
    /// Of a ready one whose result is a handle of an object of this type: throws as `result`.
    virtual std::shared_ptr<ObjectEnd> object(char const* type) = 0;
    /// A call of the object, of this type, that the result will be a handle of.
    virtual std::shared_ptr<PendingCall> then_call(TaskEntry const& method, Writer& arguments,
                                                   char const* type, CallKind kind) = 0;
    [[noreturn]] virtual void throw_timeout(std::chrono::nanoseconds limit) = 0;
};

/// What all replies can do.
template <class R>
class ReplyTo {
public:
    explicit ReplyTo(std::shared_ptr<PendingCall> call) : call_(std::move(call)) {}

    /// Waits, and gives the value, or throws what the method threw (by its std type where that is
    /// known), ObjectLost when the object's process died, Cancelled. Again and again.
    R get() const {
        wait();
        return value();
    }
    /// Throws Timeout when there is nothing by then; the call goes on.
    R get(std::chrono::nanoseconds limit) const {
        if (!wait_for(limit)) call_->throw_timeout(limit);
        return value();
    }
    void wait() const { call_->wait_until(std::chrono::steady_clock::time_point::max()); }
    /// False: it is not there yet.
    bool wait_for(std::chrono::nanoseconds limit) const {
        auto const now = std::chrono::steady_clock::now();
        auto const end = std::chrono::steady_clock::time_point::max();
        return call_->wait_until(limit > end - now ? end : now + limit);
    }
    bool ready() const { return call_->ready(); }
    /// Waits; whether there is a value.
    bool successful() const {
        wait();
        return !call_->failed();
    }
    /// Waits; what get() throws, null where there is a value.
    std::exception_ptr error() const {
        if (successful()) return nullptr;
        try {
            call_->result();
        } catch (...) {
            return std::current_exception();
        }
        return nullptr;
    }
    /// A call that has not begun never will; the reply is then Cancelled. No effect on one that has,
    /// unless it is one that its object answers later (Deferred).
    void cancel() const { call_->cancel(); }
    /// As that, but the call is executed first: it is Cancelled if its object does not answer at once.
    /// No effect on one that is no Deferred.
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

/// What a call of an object in another process will give: a value of type R, or an exception.
///
/// A copyable handle; any thread. Replies are matched by the call they answer: they may be got in any
/// order. Dropping a handle does not cancel the call. One that will give an Object can be called at
/// once: see Reply<Object<T>>.
template <class R>
class Reply : public detail::ReplyTo<R> {
public:
    using detail::ReplyTo<R>::ReplyTo;
};

/// Waits as long as `limit`, and then withdraws the call: for certain, which takes its turn and an
/// answer of the manager's. Nothing (of a void: false): its object did not answer in time, and will
/// not. A value that comes meanwhile wins; a limit of 0 asks once. One that is no Deferred is waited for.
template <class R>
auto get_within(Reply<R> const& reply, std::chrono::nanoseconds limit)
    -> std::conditional_t<std::is_void_v<R>, bool, std::optional<R>> {
    if (!reply.wait_for(limit)) reply.withdraw();
    try {
        if constexpr (!std::is_void_v<R>) return reply.get();
        else return reply.get(), true;
    } catch (Cancelled const& error) {
        if (dynamic_cast<RemoteException const*>(&error) != nullptr) throw;  // the method's own
        return {};
    }
}

}  // namespace sinew
