// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <utility>

#include <sinew/detail/managed_handle.hpp>

namespace sinew::managed {

/// The value object in the manager's process.
template <class T>
class ValueObject {
public:
    explicit ValueObject(T value) : value_(std::move(value)) {}
    T get() const { return value_; }
    void set(T const& value) { value_ = value; }
    T exchange(T const& value) { return std::exchange(value_, value); }
    bool compare_exchange(T const& expected, T const& wanted) {
        if (!(value_ == expected)) return false;
        value_ = wanted;
        return true;
    }
    T fetch_add(T const& more) {
        auto const before = value_;
        value_ = static_cast<T>(value_ + more);
        return before;
    }

    // Checkpointable.
    T save() const { return value_; }
    void restore(T value) { value_ = std::move(value); }

private:
    T value_;
};

/// One value of any type that can be encoded. Each method is atomic. Thread-safe.
template <class T, class Mode = Waits>
class Value : public Handle<Value<T, Mode>, ValueObject<T>> {
    using Kept = ValueObject<T>;
    template <class R>
    using Gives = typename Mode::template Gives<R>;

public:
    explicit Value(Object<Kept> object) : Handle<Value, Kept>(std::move(object)) {}
    static char const* kept() { return typeid(Kept).name(); }
    Value<T, Replies> async() const { return Value<T, Replies>(this->object()); }

    Gives<T> get() const { return call<&Kept::get>(); }
    Gives<void> set(T const& value) const { return call<&Kept::set>(value); }
    /// Sets the value and returns the previous one.
    Gives<T> exchange(T const& value) const { return call<&Kept::exchange>(value); }
    /// Sets the value to `wanted` if it equals `expected`; returns false otherwise.
    Gives<bool> compare_exchange(T const& expected,
                                 T const& wanted) const requires std::equality_comparable<T> {
        return call<&Kept::compare_exchange>(expected, wanted);
    }
    /// Adds `more` and returns the previous value.
    Gives<T> fetch_add(T const& more) const requires requires(T value) { value + value; }
    { return call<&Kept::fetch_add>(more); }

private:
    template <auto M, class... Args>
    auto call(Args const&... arguments) const {
        return Mode::of(this->object().template async<M>(arguments...));
    }
};
template <class T>
using AsyncValue = Value<T, Replies>;

}  // namespace sinew::managed
