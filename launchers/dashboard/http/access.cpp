// SPDX-License-Identifier: Apache-2.0
#include "launchers/dashboard/http/access.hpp"

#include <algorithm>
#include <array>
#include <sinew/error.hpp>

#include "src/base/system/secret_file.hpp"
#include "src/base/text.hpp"
#include "src/wire/tls/secret.hpp"

namespace sinew::launch::dashboard {
namespace {

constexpr std::size_t shortest = 32, longest = 256;

bool is_digit(char each) { return each >= '0' && each <= '9'; }

bool is_token_char(char each) {
    return is_digit(each) || (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
           each == '-' || each == '_';
}

char lower(char each) {
    return each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each;
}

bool equal_ignoring_case(std::string_view one, std::string_view other) {
    return std::ranges::equal(one, other, {}, lower, lower);
}

}  // namespace

Token Token::random() { return Token(wire::Secret::random().hex()); }

Token Token::from_file(std::string const& path) {
    auto line = read_secret_file(path);
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
    if (line.size() < shortest || line.size() > longest ||
        !std::ranges::all_of(line, is_token_char))
        throw UsageError(text(path, ": its first line is no token (must be ", shortest, " to ",
                              longest, " letters, digits, '-' and '_')"));
    return Token(std::move(line));
}

bool Token::admits(std::string_view authorization) const {
    constexpr std::string_view scheme = "Bearer ";
    if (!equal_ignoring_case(authorization.substr(0, scheme.size()), scheme)) return false;
    auto const given = authorization.substr(scheme.size());
    if (given.size() != value_.size()) return false;
    unsigned volatile difference = 0;
    for (std::size_t i = 0; i < given.size(); ++i)
        difference = difference |
                     (static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(value_[i]));
    return difference == 0;
}

bool names_loopback(std::string_view host) {
    constexpr std::array<std::string_view, 3> names{"localhost", "127.0.0.1", "[::1]"};
    return std::ranges::any_of(names, [&](std::string_view name) {
        if (!equal_ignoring_case(host.substr(0, name.size()), name)) return false;
        auto const rest = host.substr(name.size());
        if (rest.empty()) return true;
        return rest.front() == ':' && rest.size() > 1 && rest.size() <= 6 &&
               std::ranges::all_of(rest.substr(1), is_digit);
    });
}

}  // namespace sinew::launch::dashboard
