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

/// A process that calls an object, as the object's manager counts them.
struct Caller {
    std::uint64_t number = 0;
    friend auto operator<=>(Caller, Caller) = default;
};

namespace this_call {
/// Within a method that is called of an object in a manager. Elsewhere throws UsageError.
Caller caller();
}  // namespace this_call

namespace detail {

/// A call that its object is to answer.
class OwedAnswer {
public:
    virtual ~OwedAnswer() = default;
    virtual Caller caller() const = 0;
    /// Nobody has answered, and the caller still waits.
    virtual bool waiting() const = 0;
    /// False: nobody waits.
    virtual bool answer(Writer const& value) = 0;
    virtual bool fail(std::exception_ptr error) = 0;
    /// The method returns without an answer.
    virtual void postpone() = 0;
};
/// Of the call that this thread executes.
std::shared_ptr<OwedAnswer> owe_answer();

}  // namespace detail

/// The answer that a method of an object in a manager owes its caller: made within the method, which
/// returns it as a Deferred, and kept by the object until it has one. A copyable handle, any thread.
/// When the last copy is gone without an answer, the caller gets std::future_error (broken promise).
template <class R>
class Promise {
public:
    /// Of the call that runs. Throws UsageError where there is none.
    Promise() : owed_(detail::owe_answer()) {}

    /// False: the caller has given up, or is lost, or has been answered. Nobody gets the value: it is
    /// still the object's, and somebody else's turn.
    template <class Value>
    requires(!std::is_void_v<R> &&
             std::is_convertible_v<Value const&, R>) bool answer(Value const& value) const {
        Writer bytes;
        if constexpr (std::is_same_v<R, Value>) encode(bytes, value);
        else encode(bytes, static_cast<R>(value));
        return owed_->answer(bytes);
    }
    bool answer() const requires std::is_void_v<R> { return owed_->answer(Writer()); }
    /// The caller's get() throws it. False as of answer().
    template <class E>
    bool fail(E const& error) const {
        return owed_->fail(std::make_exception_ptr(error));
    }
    /// False: see answer().
    bool waiting() const { return owed_->waiting(); }
    Caller caller() const { return owed_->caller(); }

private:
    template <class>
    friend class Deferred;
    std::shared_ptr<detail::OwedAnswer> owed_;
};

/// What a method returns that may answer later: a value at once, or a Promise. Who calls it gets an R,
/// or a Reply<R>, as of any method; Reply::cancel() also ends the wait of a call that has begun so.
/// Meanwhile no thread of the manager is held, and other calls of the object are executed.
///
///   Deferred<int> take() {
///       if (!items_.empty()) return pop();
///       return waiting_.emplace_back();               // a Promise<int>
///   }
///   void put(int item) {
///       while (!waiting_.empty()) {                   // who has given up does not take it
///           auto const first = pop_waiting();
///           if (first.answer(item)) return;
///       }
///       items_.push_back(item);
///   }
///
/// An object that has to know hears of it, in its turn, if it has these members:
///   void calls_withdrawn();         callers gave up: some of its promises are not waiting() any more
///   void caller_lost(Caller who);   the process has ended, or the connection to it: what it had
///                                   called before is over, and its promises are not waiting()
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
    /// It is done.
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

/// What the caller of a method gets.
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

/// Deletes an object that hears of its callers' ends, and tells it of them: a manager asks for it by
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
