// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <sinew/task/encoding.hpp>

namespace sinew {

/// Identifies a process that calls an object, within the object's manager.
struct Caller {
    std::uint64_t number = 0;
    friend auto operator<=>(Caller, Caller) = default;
};

namespace this_call {
/// The process that made the current call. Throws UsageError outside of a method that is called in
/// a manager.
Caller caller();
}  // namespace this_call

namespace detail {

/// A call whose answer the object still owes.
class OwedAnswer {
public:
    virtual ~OwedAnswer() = default;
    virtual Caller caller() const = 0;
    /// Whether the call is unanswered and its caller still waits.
    virtual bool waiting() const = 0;
    /// Sends the answer. Returns false if no caller waits.
    virtual bool answer(Writer const& value) = 0;
    virtual bool fail(std::exception_ptr error) = 0;
    /// Called when the method returns without an answer.
    virtual void postpone() = 0;
};
/// The answer owed by the call that this thread executes.
std::shared_ptr<OwedAnswer> owe_answer();

}  // namespace detail

/// The later answer of a method of an object in a manager. The method constructs it and returns it
/// as a Deferred; the object keeps it until it has the answer. If the last copy is destroyed
/// without an answer, the caller gets std::future_error (broken promise).
///
/// A copyable handle. Thread-safe.
template <class R>
class Promise {
public:
    /// Takes over the answer of the current call. Throws UsageError outside of a call.
    Promise() : owed_(detail::owe_answer()) {}

    /// Answers the call. Returns false if the caller has given up, is lost, or was answered before:
    /// then no process gets the value, and the object still has it.
    template <class Value>
    requires(!std::is_void_v<R> &&
             std::is_convertible_v<Value const&, R>) bool answer(Value const& value) const {
        Writer bytes;
        if constexpr (std::is_same_v<R, Value>) encode(bytes, value);
        else encode(bytes, static_cast<R>(value));
        return owed_->answer(bytes);
    }
    bool answer() const requires std::is_void_v<R> { return owed_->answer(Writer()); }
    /// Makes the caller's get() throw `error`. Returns false as answer() does.
    template <class E>
    bool fail(E const& error) const {
        return owed_->fail(std::make_exception_ptr(error));
    }
    /// Whether the caller still waits for an answer.
    bool waiting() const { return owed_->waiting(); }
    /// The process that waits for the answer.
    Caller caller() const { return owed_->caller(); }

private:
    template <class>
    friend class Deferred;
    std::shared_ptr<detail::OwedAnswer> owed_;
};

/// The return type of a method that may answer later: either a value or a Promise. The caller gets
/// an R or a Reply<R> as from any method; Reply::cancel() also ends the wait of a call that has
/// begun. Meanwhile the call holds no thread of the manager, and other calls of the object are
/// executed.
///
///   Deferred<int> take() {
///       if (!items_.empty()) return pop();
///       return waiting_.emplace_back();               // a Promise<int>
///   }
///   void put(int item) {
///       while (!waiting_.empty()) {                   // skips callers that have given up
///           auto const first = pop_waiting();
///           if (first.answer(item)) return;
///       }
///       items_.push_back(item);
///   }
///
/// The manager informs an object that has these members, in the order of calls:
///   void calls_withdrawn();         callers gave up: some promises are no longer waiting()
///   void caller_lost(Caller who);   the process or its connection has ended: its calls before
///                                   this are over, and its promises are not waiting()
template <class R>
class Deferred {
public:
    Deferred(R value) : value_(std::move(value)) {}
    Deferred(Promise<R> const& promise) : owed_(promise.owed_) {}

    void encode_to(Writer& writer) const {
        if (owed_) owed_->postpone();
        else encode(writer, *value_);
    }
    static Deferred decode_from(Reader& reader) { return decode<R>(reader); }

private:
    std::optional<R> value_;
    std::shared_ptr<detail::OwedAnswer> owed_;
};

template <>
class Deferred<void> {
public:
    /// The call is complete.
    Deferred() = default;
    Deferred(Promise<void> const& promise) : owed_(promise.owed_) {}

    void encode_to(Writer&) const {
        if (owed_) owed_->postpone();
    }
    static Deferred decode_from(Reader&) { return {}; }

private:
    std::shared_ptr<detail::OwedAnswer> owed_;
};

namespace detail {

/// What the caller of a method that returns R gets.
template <class R>
struct AnswerOf {
    using type = R;
};
template <class R>
struct AnswerOf<Deferred<R>> {
    using type = R;
};
template <class R>
using Answer = typename AnswerOf<R>::type;

/// Deleter of an object that is informed of its callers' ends. The manager finds it by
/// std::get_deleter.
struct CallerObserver {
    void (*lost)(void* object, Caller caller);
    void (*withdrawn)(void* object);
    void (*destroy)(void* object);
    void operator()(void* object) const { destroy(object); }
};

template <class T>
concept HearsOfLoss = requires(T& object, Caller caller) {
    object.caller_lost(caller);
};
template <class T>
concept HearsOfWithdrawal = requires(T& object) {
    object.calls_withdrawn();
};

template <class T, class... Args>
std::shared_ptr<void> make_object(Args&&... arguments) {
    if constexpr (HearsOfLoss<T> || HearsOfWithdrawal<T>) {
        CallerObserver observer{};
        if constexpr (HearsOfLoss<T>)
            observer.lost = [](void* object, Caller caller) {
                static_cast<T*>(object)->caller_lost(caller);
            };
        if constexpr (HearsOfWithdrawal<T>)
            observer.withdrawn = [](void* object) { static_cast<T*>(object)->calls_withdrawn(); };
        observer.destroy = [](void* object) { delete static_cast<T*>(object); };
        return std::shared_ptr<T>(new T(std::forward<Args>(arguments)...), observer);
    } else {
        return std::make_shared<T>(std::forward<Args>(arguments)...);
    }
}

}  // namespace detail
}  // namespace sinew
