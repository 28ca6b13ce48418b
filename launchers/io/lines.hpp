// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace sinew::launch {

/// Assembles one output stream of one rank into lines. Pure: the caller passes the time.
class LineAssembler {
public:
    using Clock = std::chrono::steady_clock;
    /// A piece of output that may be shown as it is: one or more whole lines, or a part of one.
    struct Piece {
        std::string_view bytes;
        bool starts_line;  ///< false: the continuation of a part that was flushed before
        bool ends_line;    ///< its last byte is '\n'
    };
    using Sink = std::function<void(Piece)>;

    explicit LineAssembler(Clock::duration patience = std::chrono::milliseconds(100),
                           std::size_t longest = 64 * 1024);
    /// Gives whole lines to `sink` at once; keeps the rest unless it has `longest` bytes or more.
    void feed(std::string_view bytes, Clock::time_point now, Sink const& sink);
    /// Restarts the patience for the unfinished part. For use after the stream was not read for a
    /// while, since the rest of the line may have been waiting in the pipe.
    void wait_anew(Clock::time_point now);
    /// Gives a part that has waited for `patience` to `sink`.
    void flush_stale(Clock::time_point now, Sink const& sink);
    /// Gives what is left to `sink` at the end of the stream.
    void finish(Sink const& sink);
    /// The time at which flush_stale is due; time_point::max() if nothing waits.
    Clock::time_point due() const;

private:
    void keep(std::string_view bytes, Clock::time_point now, Sink const& sink);
    void give_part(Sink const& sink);
    void give(std::string_view bytes, Sink const& sink);

    Clock::duration patience_;
    std::size_t longest_;
    std::string part_;
    Clock::time_point since_{};
    bool continued_ = false;  ///< the last piece given did not end its line
};

}  // namespace sinew::launch
