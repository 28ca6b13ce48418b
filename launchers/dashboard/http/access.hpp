// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace sinew::launch::dashboard {

/// What a client of a dashboard must know. A browser gets it in the fragment of the page's address,
/// which it sends to nobody.
class Token {
public:
    /// 256 bits of the kernel's generator.
    static Token random();
    /// Of a file that only this user may read: 32 to 256 letters, digits, '-' and '_'. Throws
    /// SystemError if it cannot be read, UsageError if others may read it or it holds something
    /// else. No error repeats what it holds.
    static Token from_file(std::string const& path);

    std::string const& value() const { return value_; }
    /// Whether `authorization`, the value of that header, is "Bearer" and this token. Takes the same
    /// time wherever they differ.
    bool admits(std::string_view authorization) const;

private:
    explicit Token(std::string value) : value_(std::move(value)) {}
    std::string value_;
};

/// Whether a Host header names this host as somebody on it does: localhost, 127.0.0.1 or [::1], with
/// any port. A page whose name was made to lead here (DNS rebinding) has another.
bool names_loopback(std::string_view host);

}  // namespace sinew::launch::dashboard
