// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <ranges>
#include <type_traits>

#include <sinew/comm/data_type.hpp>

namespace sinew {

namespace detail {
template <class R>
using ElementOf = std::remove_cv_t<std::ranges::range_value_t<R>>;

/// A contiguous range that outlives the call expression: an lvalue, or a view such as std::span.
template <class R>
concept Lasting = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::ranges::borrowed_range<R> && Element<ElementOf<R>>;
}  // namespace detail

/// Elements to read: pointer, count and type. Made from any contiguous range (vector, array, span).
/// The elements are borrowed until the call, or the Request that it returns, has completed.
struct ConstBuffer {
    void const* data = nullptr;
    std::size_t count = 0;
    DataType type = DataType::Kind::u8;

    ConstBuffer(void const* data_, std::size_t count_, DataType type_)
        : data(data_), count(count_), type(type_) {}
    template <detail::Lasting R>
    ConstBuffer(R&& range)
        : data(std::ranges::data(range)), count(std::ranges::size(range)),
          type(data_type_of<detail::ElementOf<R>>()) {}

    std::size_t bytes() const { return count * type.size(); }
};

/// Elements to write, and to read for calls in place. See ConstBuffer.
struct Buffer {
    void* data = nullptr;
    std::size_t count = 0;
    DataType type = DataType::Kind::u8;

    Buffer(void* data_, std::size_t count_, DataType type_)
        : data(data_), count(count_), type(type_) {}
    template <detail::Lasting R>
    requires(!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>)
        Buffer(R&& range)
        : data(std::ranges::data(range)), count(std::ranges::size(range)),
          type(data_type_of<detail::ElementOf<R>>()) {}

    std::size_t bytes() const { return count * type.size(); }
    operator ConstBuffer() const { return {data, count, type}; }
};

}  // namespace sinew
