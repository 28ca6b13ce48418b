// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <sinew/detail/managed_handle.hpp>

namespace sinew::managed {

/// The list object in the manager's process.
template <class T>
class ListObject {
public:
    explicit ListObject(std::vector<T> items) : items_(std::move(items)) {}

    void push_back(T const& item) { items_.push_back(item); }
    void extend(std::vector<T> const& more) {
        items_.insert(items_.end(), more.begin(), more.end());
    }
    void insert(std::size_t index, T const& item) { items_.insert(place(index, 0), item); }
    T at(std::size_t index) const { return items_[checked(index)]; }
    void set(std::size_t index, T const& item) { items_[checked(index)] = item; }
    void erase(std::size_t index) { items_.erase(items_.begin() + offset(checked(index))); }
    T pop(std::size_t index) {
        T item = std::move(items_[checked(index)]);
        erase(index);
        return item;
    }
    T pop_back() {
        if (items_.empty()) throw std::out_of_range("pop_back of an empty list");
        return pop(items_.size() - 1);
    }
    std::vector<T> slice(std::size_t first, std::size_t count) const {
        auto const begin = place(first, count);
        return {begin, begin + offset(count)};
    }
    std::vector<T> copy() const { return items_; }
    std::size_t size() const { return items_.size(); }
    void clear() { items_.clear(); }

    void sort() { std::stable_sort(items_.begin(), items_.end()); }
    void reverse() { std::reverse(items_.begin(), items_.end()); }
    std::optional<std::size_t> index(T const& item) const {
        auto const found = std::find(items_.begin(), items_.end(), item);
        if (found == items_.end()) return std::nullopt;
        return static_cast<std::size_t>(found - items_.begin());
    }
    std::size_t count(T const& item) const {
        return static_cast<std::size_t>(std::count(items_.begin(), items_.end(), item));
    }
    bool remove(T const& item) {
        auto const found = index(item);
        if (found) erase(*found);
        return found.has_value();
    }

    // Checkpointable.
    std::vector<T> save() const { return items_; }
    void restore(std::vector<T> items) { items_ = std::move(items); }

private:
    static std::ptrdiff_t offset(std::size_t index) { return static_cast<std::ptrdiff_t>(index); }
    std::size_t checked(std::size_t index) const {
        if (index >= items_.size()) detail::refuse_index("a list", index, items_.size());
        return index;
    }
    auto place(std::size_t first, std::size_t count) const {
        if (first > items_.size() || count > items_.size() - first)
            detail::refuse_slice("a list", first, count, items_.size());
        return items_.cbegin() + offset(first);
    }
    std::vector<T> items_;
};

}  // namespace sinew::managed
