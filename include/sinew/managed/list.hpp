// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <sinew/detail/list_object.hpp>

namespace sinew::managed {

/// A list that processes share. Each method is atomic. Results are copies: changing them does not
/// change the list. Methods throw std::out_of_range for indices outside the list. Thread-safe.
template <class T, class Mode = Waits>
class List : public Handle<List<T, Mode>, ListObject<T>> {
    using Kept = ListObject<T>;
    template <class R>
    using Gives = typename Mode::template Gives<R>;

public:
    explicit List(Object<Kept> object) : Handle<List, Kept>(std::move(object)) {}
    static char const* kept() { return typeid(Kept).name(); }
    List<T, Replies> async() const { return List<T, Replies>(this->object()); }

    Gives<void> push_back(T const& item) const { return call<&Kept::push_back>(item); }
    Gives<void> extend(std::vector<T> const& more) const { return call<&Kept::extend>(more); }
    /// Inserts `item` before the element at `index`; `index` may be size().
    Gives<void> insert(std::size_t index, T const& item) const {
        return call<&Kept::insert>(index, item);
    }
    Gives<T> at(std::size_t index) const { return call<&Kept::at>(index); }
    T operator[](std::size_t index) const requires std::same_as<Mode, Waits> { return at(index); }
    Gives<void> set(std::size_t index, T const& item) const {
        return call<&Kept::set>(index, item);
    }
    Gives<void> erase(std::size_t index) const { return call<&Kept::erase>(index); }
    /// Erases the element and returns it.
    Gives<T> pop(std::size_t index) const { return call<&Kept::pop>(index); }
    Gives<T> pop_back() const { return call<&Kept::pop_back>(); }
    Gives<std::vector<T>> slice(std::size_t first, std::size_t count) const {
        return call<&Kept::slice>(first, count);
    }
    Gives<std::vector<T>> copy() const { return call<&Kept::copy>(); }
    Gives<std::size_t> size() const { return call<&Kept::size>(); }
    bool empty() const requires std::same_as<Mode, Waits> { return size() == 0; }
    Gives<void> clear() const { return call<&Kept::clear>(); }

    /// Sorts in ascending order; equal elements keep their order.
    Gives<void> sort() const requires requires(T const& item) { item < item; }
    { return call<&Kept::sort>(); }
    Gives<void> reverse() const { return call<&Kept::reverse>(); }
    /// The index of the first equal element; nothing if there is none.
    Gives<std::optional<std::size_t>> index(
        T const& item) const requires std::equality_comparable<T> {
        return call<&Kept::index>(item);
    }
    Gives<std::size_t> count(T const& item) const requires std::equality_comparable<T> {
        return call<&Kept::count>(item);
    }
    /// Erases the first equal element; returns false if there is none.
    Gives<bool> remove(T const& item) const requires std::equality_comparable<T> {
        return call<&Kept::remove>(item);
    }

private:
    template <auto M, class... Args>
    auto call(Args const&... arguments) const {
        return Mode::of(this->object().template async<M>(arguments...));
    }
};
template <class T>
using AsyncList = List<T, Replies>;

}  // namespace sinew::managed
