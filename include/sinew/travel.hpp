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

#include <sinew/codec.hpp>

namespace sinew::detail {

/// How a type gets from one process to another; see encode().
enum class Travel : std::uint8_t {
    itself,     ///< by its encode_to and decode_from
    flag,       ///< one byte, 0 or 1
    plain,      ///< its bytes
    array,      ///< its elements
    container,  ///< their number, its elements
    product,    ///< its members: pairs and tuples
    optional,   ///< a flag, the value
    variant,    ///< the index, the value
    cereal,     ///< as cereal says
    address,    ///< not at all: it says where something is in this process
    nowise,     ///< not at all: nobody said how
};

/// How types of the standard library travel that are made of others; `nowise`: it is none of these.
template <class T>
inline constexpr Travel std_travel = Travel::nowise;
template <class T, std::size_t N>
inline constexpr Travel std_travel<T[N]> = Travel::array;
template <class T, std::size_t N>
inline constexpr Travel std_travel<std::array<T, N>> = Travel::array;
template <class A, class B>
inline constexpr Travel std_travel<std::pair<A, B>> = Travel::product;
template <class... T>
inline constexpr Travel std_travel<std::tuple<T...>> = Travel::product;
template <class T>
inline constexpr Travel std_travel<std::optional<T>> = Travel::optional;
template <class... T>
inline constexpr Travel std_travel<std::variant<T...>> = Travel::variant;
template <class... T>
inline constexpr Travel std_travel<std::basic_string<T...>> = Travel::container;
template <class... T>
inline constexpr Travel std_travel<std::vector<T...>> = Travel::container;
template <class... T>
inline constexpr Travel std_travel<std::deque<T...>> = Travel::container;
template <class... T>
inline constexpr Travel std_travel<std::list<T...>> = Travel::container;
template <class... T>
inline constexpr Travel std_travel<std::set<T...>> = Travel::container;
template <class... T>
inline constexpr Travel std_travel<std::multiset<T...>> = Travel::container;
template <class... T>
inline constexpr Travel std_travel<std::map<T...>> = Travel::container;
template <class... T>
inline constexpr Travel std_travel<std::multimap<T...>> = Travel::container;
template <class... T>
inline constexpr Travel std_travel<std::unordered_set<T...>> = Travel::container;
template <class... T>
inline constexpr Travel std_travel<std::unordered_multiset<T...>> = Travel::container;
template <class... T>
inline constexpr Travel std_travel<std::unordered_map<T...>> = Travel::container;
template <class... T>
inline constexpr Travel std_travel<std::unordered_multimap<T...>> = Travel::container;

/// Types that are trivially copyable, yet only point to what they mean.
template <class T>
inline constexpr Travel std_travel<std::initializer_list<T>> = Travel::address;
template <class T>
inline constexpr Travel std_travel<std::reference_wrapper<T>> = Travel::address;
template <class... T>
inline constexpr Travel std_travel<std::basic_string_view<T...>> = Travel::address;
template <class T, std::size_t N>
inline constexpr Travel std_travel<std::span<T, N>> = Travel::address;
template <class T>
requires std::is_pointer_v<T> || std::is_member_pointer_v<T> || std::is_reference_v<T> ||
    std::is_null_pointer_v<T>
inline constexpr Travel std_travel<T> = Travel::address;

/// What a container holds, without the const of a map's keys.
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
