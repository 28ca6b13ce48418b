// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>

namespace sinew {

/// The integers first, first + 1, ..., last - 1, as an input of tasks: `pool.map<f>(sinew::range(0,
/// 1000))`. (std::views::iota works as well, except with clang before 16 and GCC's library.)
template <std::integral T>
class Range {
public:
    class Iterator {
    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = T const*;
        using reference = T;
        Iterator() = default;
        explicit Iterator(T at) : at_(at) {}
        T operator*() const { return at_; }
        Iterator& operator++() {
            ++at_;
            return *this;
        }
        Iterator operator++(int) {
            auto const before = *this;
            ++*this;
            return before;
        }
        friend bool operator==(Iterator, Iterator) = default;

    private:
        T at_{};
    };
    Range(T first, T last) : first_(first), last_(last < first ? first : last) {}
    Iterator begin() const { return Iterator(first_); }
    Iterator end() const { return Iterator(last_); }
    std::size_t size() const { return static_cast<std::size_t>(last_ - first_); }

private:
    T first_, last_;
};

template <std::integral T>
Range<T> range(T first, T last) {
    return {first, last};
}

}  // namespace sinew
