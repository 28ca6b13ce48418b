// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <sinew/task/codec.hpp>

namespace sinew::detail {

/// How values of a type are encoded; see encode().
enum class Encoding : std::uint8_t {
    custom,       ///< by encode_to and decode_from
    flag,         ///< one byte, 0 or 1
    plain,        ///< its bytes
    array,        ///< its elements
    container,    ///< the number of elements, the elements
    product,      ///< its members: pairs and tuples
    optional,     ///< a flag, the value
    variant,      ///< the index, the value
    cereal,       ///< by cereal
    address,      ///< not encodable: refers to memory of this process
    unsupported,  ///< not encodable: no encoding is known
};

/// How composite types of the standard library are encoded; `unsupported` for all other types.
template <class T>
inline constexpr Encoding std_encoding = Encoding::unsupported;
template <class T, std::size_t N>
inline constexpr Encoding std_encoding<T[N]> = Encoding::array;
template <class T, std::size_t N>
inline constexpr Encoding std_encoding<std::array<T, N>> = Encoding::array;
template <class A, class B>
inline constexpr Encoding std_encoding<std::pair<A, B>> = Encoding::product;
template <class... T>
inline constexpr Encoding std_encoding<std::tuple<T...>> = Encoding::product;
template <class T>
inline constexpr Encoding std_encoding<std::optional<T>> = Encoding::optional;
template <class... T>
inline constexpr Encoding std_encoding<std::variant<T...>> = Encoding::variant;
template <class... T>
inline constexpr Encoding std_encoding<std::basic_string<T...>> = Encoding::container;
template <class... T>
inline constexpr Encoding std_encoding<std::vector<T...>> = Encoding::container;
template <class... T>
inline constexpr Encoding std_encoding<std::deque<T...>> = Encoding::container;
template <class... T>
inline constexpr Encoding std_encoding<std::list<T...>> = Encoding::container;
template <class... T>
inline constexpr Encoding std_encoding<std::set<T...>> = Encoding::container;
template <class... T>
inline constexpr Encoding std_encoding<std::multiset<T...>> = Encoding::container;
template <class... T>
inline constexpr Encoding std_encoding<std::map<T...>> = Encoding::container;
template <class... T>
inline constexpr Encoding std_encoding<std::multimap<T...>> = Encoding::container;
template <class... T>
inline constexpr Encoding std_encoding<std::unordered_set<T...>> = Encoding::container;
template <class... T>
inline constexpr Encoding std_encoding<std::unordered_multiset<T...>> = Encoding::container;
template <class... T>
inline constexpr Encoding std_encoding<std::unordered_map<T...>> = Encoding::container;
template <class... T>
inline constexpr Encoding std_encoding<std::unordered_multimap<T...>> = Encoding::container;

/// Types that are trivially copyable, but only refer to other memory.
template <class T>
inline constexpr Encoding std_encoding<std::initializer_list<T>> = Encoding::address;
template <class T>
inline constexpr Encoding std_encoding<std::reference_wrapper<T>> = Encoding::address;
template <class... T>
inline constexpr Encoding std_encoding<std::basic_string_view<T...>> = Encoding::address;
template <class T, std::size_t N>
inline constexpr Encoding std_encoding<std::span<T, N>> = Encoding::address;
template <class T>
requires std::is_pointer_v<T> || std::is_member_pointer_v<T> || std::is_reference_v<T> ||
    std::is_null_pointer_v<T>
inline constexpr Encoding std_encoding<T> = Encoding::address;

/// The element type of a container, without the const of a map's keys.
template <class T>
struct HeldOf {
    using type = T;
};
template <class Key, class Value>
struct HeldOf<std::pair<Key const, Value>> {
    using type = std::pair<Key, Value>;
};
template <class Container>
using Held = typename HeldOf<typename Container::value_type>::type;

}  // namespace sinew::detail
