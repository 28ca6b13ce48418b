// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "src/base/system/unique_fd.hpp"

namespace sinew::launch::docker {

struct HttpRequest {
    std::string method, target;
    std::string body;      ///< JSON; empty: none
    bool upgrade = false;  ///< the connection is to become a stream of bytes
};

/// One request over a Unix socket and its answer. Blocks, within limits of time; for one thread.
/// Heads and chunks are parsed by Boost.Beast. libcurl, which k8s/http uses, gives no connection away
/// that has become a stream, and the backend must not depend on it.
class HttpConnection {
public:
    using Clock = std::chrono::steady_clock;
    /// Throws SystemError with the errno if nothing accepts connections at `path`.
    explicit HttpConnection(std::string const& path);
    HttpConnection(HttpConnection&&) noexcept;
    ~HttpConnection();

    /// Throws Unavailable if the engine does not take it within 30 s.
    void send(HttpRequest const& request);
    /// Waits for the answer's head and returns the status. Throws Timeout, and Unavailable if what
    /// comes is no answer.
    int head(Clock::duration limit);
    /// A header of the answer; empty: it has none of this name.
    std::string header(std::string const& name) const;
    /// The next piece of the body; nothing: it is complete. Throws as head() does, also if the
    /// connection ends before.
    std::optional<std::string> piece(Clock::duration limit);
    /// The whole of the body. Throws Unavailable if it is larger than 16 MiB.
    std::string body(Clock::duration limit);
    /// Readable when the answer goes on.
    int fd() const { return fd_.get(); }
    /// After the head of an upgraded connection: the stream, and what has come of it already.
    UniqueFd release(std::string& arrived);

private:
    struct Parser;
    bool read_more(Clock::duration limit);

    UniqueFd fd_;
    std::unique_ptr<Parser> parser_;
    std::string arrived_;  ///< not parsed yet
};

}  // namespace sinew::launch::docker
