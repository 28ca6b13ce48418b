// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace sinew::k8s {

// Reading objects that others sent: what is absent or has another type reads as empty, 0 or false.
// For sources only: the header is heavy.

/// The member, or null.
inline nlohmann::json const& member(nlohmann::json const& object, std::string_view key) {
    static nlohmann::json const null;
    if (!object.is_object()) return null;
    auto const found = object.find(key);
    return found == object.end() ? null : *found;
}

/// The member of a member of ..., or null.
template <class... Keys>
nlohmann::json const& member(nlohmann::json const& object, std::string_view key,
                             std::string_view next, Keys... keys) {
    return member(member(object, key), next, keys...);
}

inline std::string string_of(nlohmann::json const& value) {
    auto const* const found = value.get_ptr<nlohmann::json::string_t const*>();
    return found ? *found : std::string();
}

template <class... Keys>
std::string string_in(nlohmann::json const& object, Keys... keys) {
    return string_of(member(object, keys...));
}

/// Within the bounds of int, else `fallback`.
inline int int_of(nlohmann::json const& value, int fallback = 0) {
    if (!value.is_number_integer()) return fallback;
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > 0x7fffffffU) return fallback;
    auto const found = value.get<std::int64_t>();
    return found < -0x7fffffff || found > 0x7fffffff ? fallback : int(found);
}

inline bool bool_of(nlohmann::json const& value) { return value.is_boolean() && value.get<bool>(); }

/// The elements of a list; of anything else, none.
inline nlohmann::json const& list_of(nlohmann::json const& value) {
    static nlohmann::json const empty = nlohmann::json::array();
    return value.is_array() ? value : empty;
}

}  // namespace sinew::k8s
