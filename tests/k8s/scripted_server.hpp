// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "src/base/system/unique_fd.hpp"

namespace sinew::testing_support {

struct HttpQuestion {
    std::string method, target, path, body;
    std::map<std::string, std::string> query, headers;  ///< names of headers in small letters
};

/// The connection that a question came on.
class HttpPeer {
public:
    explicit HttpPeer(int fd) : fd_(fd) {}
    /// As it is; false if the other end has closed.
    bool send(std::string_view bytes) const;
    bool answer(int status, std::string_view body, std::string const& more_headers = "") const;
    /// Begins an answer whose parts follow by `chunk`; an empty one ends it.
    bool begin(int status = 200) const;
    bool chunk(std::string_view bytes) const;
    /// No further question is read from this connection, and it is closed.
    void close() { closed_ = true; }
    bool closed() const { return closed_; }
    /// Until the other end closes, or the server ends, or the time has passed.
    bool wait_closed(std::chrono::milliseconds most) const;

private:
    int fd_;
    bool closed_ = false;
};

/// An HTTP server on a port of the loopback interface, which answers as a function says. Each
/// connection has a thread; the destructor ends them all.
class ScriptedServer {
public:
    using Script = std::function<void(HttpQuestion const&, HttpPeer&)>;
    explicit ScriptedServer(Script script);
    ScriptedServer(ScriptedServer const&) = delete;
    ~ScriptedServer();

    std::string url() const;
    int connections() const { return connections_; }

private:
    void accept();
    void serve(int fd);

    Script script_;
    UniqueFd listener_;
    int port_ = 0;
    std::atomic<int> connections_ = 0;
    std::mutex guard_;
    std::vector<int> open_;
    std::vector<std::thread> threads_;
    bool ending_ = false;
    std::thread accepts_;
};

}  // namespace sinew::testing_support
