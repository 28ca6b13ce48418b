// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "src/base/system/unique_fd.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::process {

/// Forwards the standard error of one child to that of this process. Nothing is lost; a slow reader
/// blocks the child alone. Keeps the last lines. Continues after the child's end while a process
/// that the child started holds the pipe. Requires: runtime's guard held.
class ErrorStream : public std::enable_shared_from_this<ErrorStream> {
public:
    static constexpr std::size_t tail_size = 4096;

    /// Throws SystemError if the first ErrorStream cannot start the writing thread.
    ErrorStream(wire::Loop& loop, UniqueFd pipe);
    ErrorStream(ErrorStream const&) = delete;
    ~ErrorStream();
    /// Begins; keeps itself alive until the end of the pipe.
    void start();
    /// The child has ended: reads what it has written. Calls `written` when that is in our standard
    /// error.
    void child_ended(std::function<void()> written);
    /// The last lines; if there is more than `tail_size`, only whole lines.
    std::string tail() const;

private:
    bool read_some();
    void watch();
    void tell_written();

    wire::Loop& loop_;
    UniqueFd pipe_;
    wire::Loop::Handle readable_;
    std::string tail_;
    bool cut_ = false;  ///< earlier output was dropped
    std::size_t unwritten_ = 0;
    std::function<void()> written_;
    std::shared_ptr<ErrorStream> self_;
};

/// Waits until all that was read is written, for `patience` at most. Called at exit.
void finish_error_output(wire::Clock::duration patience);

}  // namespace sinew::process
