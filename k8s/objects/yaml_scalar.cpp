// SPDX-License-Identifier: Apache-2.0
#include "k8s/objects/yaml_scalar.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace sinew::k8s {
namespace {

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), text) != words.end();
}

// "yes", "Yes", "YES", not "yEs".
bool spelled(std::string_view text, std::initializer_list<std::string_view> words) {
    for (std::string_view const word : words) {
        std::string upper(word), title(word);
        std::transform(word.begin(), word.end(), upper.begin(),
                       [](unsigned char c) { return char(std::toupper(c)); });
        title[0] = upper[0];
        if (text == word || text == upper || text == title) return true;
    }
    return false;
}

bool parse_integer(std::string_view text, nlohmann::json& value) {
    std::string digits;
    for (char const c : text)
        if (c != '_') digits += c;
    bool const negative = digits.starts_with('-');
    if (negative || digits.starts_with('+')) digits.erase(0, 1);
    int base = 10;
    if (digits.starts_with("0x")) base = 16, digits.erase(0, 2);
    else if (digits.starts_with("0o")) base = 8, digits.erase(0, 2);
    else if (digits.starts_with("0b")) base = 2, digits.erase(0, 2);
    else if (digits.size() > 1 && digits[0] == '0') base = 8;
    std::uint64_t magnitude = 0;
    auto const* const end = digits.data() + digits.size();
    auto const [at, error] = std::from_chars(digits.data(), end, magnitude, base);
    if (digits.empty() || at != end || error != std::errc()) return false;
    if (!negative) value = magnitude;
    else if (magnitude <= std::uint64_t(1) << 63) value = std::int64_t(~magnitude + 1);
    else return false;
    return true;
}

bool parse_float(std::string_view text, nlohmann::json& value) {
    auto rest = text;
    if (rest.starts_with('-') || rest.starts_with('+')) rest.remove_prefix(1);
    std::size_t digits = 0;
    auto const take_digits = [&] {
        while (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') rest.remove_prefix(1), ++digits;
    };
    take_digits();
    if (rest.starts_with('.')) {
        rest.remove_prefix(1);
        take_digits();
    }
    if (digits == 0) return false;
    if (!rest.empty()) {
        if (rest[0] != 'e' && rest[0] != 'E') return false;
        rest.remove_prefix(1);
        if (rest.starts_with('-') || rest.starts_with('+')) rest.remove_prefix(1);
        digits = 0;
        take_digits();
        if (digits == 0 || !rest.empty()) return false;
    }
    auto const found = std::strtod(std::string(text).c_str(), nullptr);
    if (!std::isfinite(found)) return false;
    value = found;
    return true;
}

// Whatever some reader takes for a number: also base 60 ("12:30:45"), dates, infinities.
bool looks_like_number(std::string_view text) {
    auto const first = text.find_first_not_of("+-.");
    return first != text.npos && first <= 2 && text[first] >= '0' && text[first] <= '9' &&
           text.find_first_not_of("0123456789abcdefABCDEFxXoO_:.+-TZ ") == text.npos;
}

bool may_be_plain(std::string_view text) {
    auto const safe = [](unsigned char c) {
        return std::isalnum(c) != 0 || one_of(std::string_view(reinterpret_cast<char*>(&c), 1),
                                              {"-", "_", ".", "/", ":", " ", "+", "=", ",", "@",
                                               "%", "(", ")", "$", "^", ";", "<", ">"});
    };
    if (text.empty() || text.size() > 1000) return false;
    if (!std::all_of(text.begin(), text.end(), safe)) return false;
    auto const first = static_cast<unsigned char>(text[0]);
    if (std::isalnum(first) == 0 && first != '/' && first != '_' && first != '.') return false;
    if (text.back() == ' ' || text.back() == ':' || text.find(": ") != text.npos) return false;
    if (spelled(text,
                {"y", "n", "yes", "no", "on", "off", "true", "false", "null", ".nan", ".inf"}))
        return false;
    return !looks_like_number(text) && plain_scalar(text).is_string();
}

// How many bytes at the front are one valid UTF-8 character; 0: not valid.
std::size_t character_length(std::string_view text) {
    auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    auto const first = byte(0);
    std::size_t const length = first < 0x80   ? 1
                               : first < 0xc2 ? 0
                               : first < 0xe0 ? 2
                               : first < 0xf0 ? 3
                               : first < 0xf5 ? 4
                                              : 0;
    if (length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
        (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f))
        return 0;
    return length;
}

}  // namespace

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        auto const length = character_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

nlohmann::json plain_scalar(std::string_view text) {
    if (text.empty() || text == "~" || spelled(text, {"null"})) return nullptr;
    if (spelled(text, {"true", "yes", "on"})) return true;
    if (spelled(text, {"false", "no", "off"})) return false;
    nlohmann::json value;
    if (parse_integer(text, value) || parse_float(text, value)) return value;
    return std::string(text);
}

std::string scalar_text(std::string_view value) {
    if (may_be_plain(value)) return std::string(value);
    std::string out = "\"";
    while (!value.empty()) {
        auto const length = character_length(value);
        auto const one = value.substr(0, std::max<std::size_t>(length, 1));
        auto const c = static_cast<unsigned char>(one[0]);
        if (length == 0) {
            out += "\xef\xbf\xbd";  // U+FFFD, as JSON has no bytes either
        } else if (c == '"' || c == '\\') {
            (out += '\\') += char(c);
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else if (c < 0x20 || c == 0x7f) {
            std::array<char, 8> code{};
            std::snprintf(code.data(), code.size(), "\\x%02x", c);
            out += code.data();
        } else if (c == 0xc2 && static_cast<unsigned char>(one[1]) < 0xa0) {
            std::array<char, 8> code{};
            std::snprintf(code.data(), code.size(), "\\x%02x", static_cast<unsigned char>(one[1]));
            out += code.data();
        } else if (one == "\xe2\x80\xa8") {
            out += "\\u2028";
        } else if (one == "\xe2\x80\xa9") {
            out += "\\u2029";
        } else if (one == "\xef\xbb\xbf") {
            out += "\\ufeff";
        } else {
            out += one;
        }
        value.remove_prefix(one.size());
    }
    return out + '"';
}

}  // namespace sinew::k8s
