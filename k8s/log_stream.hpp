// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace sinew::k8s {

/// Which log, and which part of it.
struct LogRequest {
    std::string pod;
    std::string container = {};  ///< empty: the pod's only one
    std::string ns = {};         ///< empty: the configuration's
    bool follow = false;
    bool previous = false;        ///< of the container before its restart
    bool timestamps = false;      ///< RFC 3339 and a space before each line
    std::string since_time = {};  ///< RFC 3339
    std::optional<std::uint64_t> tail_lines = {}, limit_bytes = {};
};

/// A log that is being read. While it is paused, its callback is not called; at most 256 KiB are
/// kept, and the server has to wait.
class LogStream {
public:
    class Body;

    LogStream();
    explicit LogStream(std::shared_ptr<Body> body);
    LogStream(LogStream&&) noexcept;
    LogStream& operator=(LogStream&&) noexcept;
    /// Ends the reading; no callback is called any more.
    ~LogStream();
    explicit operator bool() const { return body_ != nullptr; }

    void pause();
    void resume();

private:
    std::shared_ptr<Body> body_;
};

}  // namespace sinew::k8s
