// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "src/base/system/unique_fd.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::process {

/// What one child writes to its standard error, on its way to ours: nothing is lost, the child waits
/// when ours is slow, and only the child. The last of it is kept. It goes on when the child has ended,
/// as long as something that the child started holds the pipe. With the runtime's guard held.
class ErrorStream : public std::enable_shared_from_this<ErrorStream> {
public:
    static constexpr std::size_t tail_size = 4096;

    /// @throws SystemError where the first of them gets no thread that writes.
    ErrorStream(wire::Loop& loop, UniqueFd pipe);
    ErrorStream(ErrorStream const&) = delete;
    ~ErrorStream();
    /// Begins; lives by itself until the end of the pipe from here on.
    void start();
    /// The child has ended: takes what it has written. `written`: once that is in our standard error.
    void child_ended(std::function<void()> written);
    /// The last lines, whole ones where there is more than `tail_size`.
    std::string tail() const;

private:
    bool read_some();
    void watch();
    void tell_written();

    wire::Loop& loop_;
    UniqueFd pipe_;
    wire::Loop::Handle readable_;
    std::string tail_;
    bool cut_ = false;  ///< it does not begin with the first byte
    std::size_t unwritten_ = 0;
    std::function<void()> written_;
    std::shared_ptr<ErrorStream> self_;
};

/// Waits until all that the streams have taken is written, for `patience` at most: at exit.
void finish_error_output(wire::Clock::duration patience);

}  // namespace sinew::process
