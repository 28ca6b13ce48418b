// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "launchers/verbs/control_connection.hpp"

namespace sinew::launch {

/// Reads a connection's lines ahead on a thread of its own, up to 4 MiB, so that a slow terminal
/// does not miss the last output of a job that ends. The connection must outlive it.
class AnswerReader {
public:
    explicit AnswerReader(ControlConnection& connection);
    AnswerReader(AnswerReader const&) = delete;
    ~AnswerReader();

    /// Waits for the next answer; nothing at the end. Throws what ControlConnection::line throws.
    std::optional<ControlAnswer> next();

private:
    void read();

    ControlConnection& connection_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::string> lines_;
    std::size_t size_ = 0;
    bool ended_ = false, ending_ = false;
    std::exception_ptr problem_;
    std::thread thread_;
};

}  // namespace sinew::launch
