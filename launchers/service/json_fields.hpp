// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <sinew/error.hpp>
#include <string>

#include "src/base/text.hpp"

namespace sinew::launch::service {

using Json = nlohmann::json;

/// A text of at most `longest` bytes without NUL. Throws UsageError, and what nlohmann throws.
inline std::string text_field(Json const& json, char const* key, std::size_t longest) {
    auto const& value = json.at(key).get_ref<std::string const&>();
    if (value.size() > longest)
        throw UsageError(
            text(key, " has ", value.size(), " bytes (must be at most ", longest, ")"));
    if (value.find('\0') != value.npos) throw UsageError(text(key, " has a NUL character"));
    return value;
}

/// A whole number between these. Throws UsageError, and what nlohmann throws.
inline std::int64_t number_field(Json const& json, char const* key, std::int64_t least,
                                 std::int64_t most) {
    auto const& value = json.at(key);
    bool const whole =
        value.is_number_integer() &&
        (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
    auto const number = whole ? value.get<std::int64_t>() : 0;
    if (!whole || number < least || number > most)
        throw UsageError(
            text(key, " is ", value.dump().substr(0, 40), " (must be ", least, " to ", most, ")"));
    return number;
}

/// One line. Bytes that are not UTF-8 are replaced.
inline std::string one_line(Json const& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sinew::launch::service
