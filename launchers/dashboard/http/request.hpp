// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace sinew::launch::dashboard {

/// What the dashboard looks at of a request.
struct Request {
    std::string method, target;
    std::string host, origin, authorization;
};

/// Reads the head of one HTTP request, as it arrives. Parsed by Boost.Beast.
class RequestReader {
public:
    static constexpr std::size_t largest_head = 16 << 10;

    RequestReader();
    ~RequestReader();
    RequestReader(RequestReader&&) noexcept;
    /// Takes further bytes. Returns 0 while there must come more, 200 when the head is complete, and
    /// otherwise the status with which to refuse: 400, 413 (it has a body), 431 (it is too long).
    int take(std::string_view bytes);
    /// Requires: take() has returned 200.
    Request request() const;

private:
    struct Parser;
    std::unique_ptr<Parser> parser_;
    std::string unparsed_;
};

}  // namespace sinew::launch::dashboard
