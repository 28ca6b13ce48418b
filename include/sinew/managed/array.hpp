// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <sinew/detail/managed_handle.hpp>

namespace sinew::managed {

/// The array object in the manager's process.
template <class T>
class ArrayObject {
public:
    explicit ArrayObject(std::vector<T> values) : values_(std::move(values)) {}
    ArrayObject(std::size_t size, T const& value) : values_(size, value) {}

    T get(std::size_t index) const { return values_[checked(index)]; }
    void set(std::size_t index, T const& value) { values_[checked(index)] = value; }
    std::vector<T> read(std::size_t first, std::size_t count) const {
        auto const begin = at(first, count);
        return {begin, begin + static_cast<std::ptrdiff_t>(count)};
    }
    void write(std::size_t first, std::vector<T> const& values) {
        auto const begin = at(first, values.size()) - values_.cbegin();
        std::copy(values.begin(), values.end(), values_.begin() + begin);
    }
    void fill(T const& value) { std::fill(values_.begin(), values_.end(), value); }
    std::vector<T> copy() const { return values_; }
    std::size_t size() const { return values_.size(); }

    // Checkpointable.
    std::vector<T> save() const { return values_; }
    void restore(std::vector<T> values) { values_ = std::move(values); }

private:
    std::size_t checked(std::size_t index) const {
        if (index >= values_.size()) detail::refuse_index("an array", index, values_.size());
        return index;
    }
    auto at(std::size_t first, std::size_t count) const {
        if (first > values_.size() || count > values_.size() - first)
            detail::refuse_slice("an array", first, count, values_.size());
        return values_.cbegin() + static_cast<std::ptrdiff_t>(first);
    }
    std::vector<T> values_;
};

/// A fixed number of values. Each method is atomic. Methods throw std::out_of_range for indices
/// outside the array.
template <class T, class Mode = Waits>
class Array : public Handle<Array<T, Mode>, ArrayObject<T>> {
    using Kept = ArrayObject<T>;
    template <class R>
    using Gives = typename Mode::template Gives<R>;

public:
    explicit Array(Object<Kept> object) : Handle<Array, Kept>(std::move(object)) {}
    static char const* kept() { return typeid(Kept).name(); }
    Array<T, Replies> async() const { return Array<T, Replies>(this->object()); }

    Gives<T> get(std::size_t index) const { return call<&Kept::get>(index); }
    Gives<void> set(std::size_t index, T const& value) const {
        return call<&Kept::set>(index, value);
    }
    /// Returns `count` values from index `first` on; write() replaces values.size() of them.
    Gives<std::vector<T>> read(std::size_t first, std::size_t count) const {
        return call<&Kept::read>(first, count);
    }
    Gives<void> write(std::size_t first, std::vector<T> const& values) const {
        return call<&Kept::write>(first, values);
    }
    /// Sets all values.
    Gives<void> fill(T const& value) const { return call<&Kept::fill>(value); }
    /// Returns all values.
    Gives<std::vector<T>> copy() const { return call<&Kept::copy>(); }
    Gives<std::size_t> size() const { return call<&Kept::size>(); }

private:
    template <auto M, class... Args>
    auto call(Args const&... arguments) const {
        return Mode::of(this->object().template async<M>(arguments...));
    }
};
template <class T>
using AsyncArray = Array<T, Replies>;

}  // namespace sinew::managed
