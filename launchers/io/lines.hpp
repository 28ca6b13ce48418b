// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace sinew::launch {

/// Makes whole lines of the bytes of one stream of one rank. Pure: the caller brings the time.
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
    /// Gives whole lines to `sink` at once and keeps the rest. A part longer than `longest` goes too.
    void feed(std::string_view bytes, Clock::time_point now, Sink const& sink);
    /// The stream was not read for a while: only from now on is a part unfinished because its
    /// program leaves it so.
    void wait_anew(Clock::time_point now);
    /// Gives a part that has waited for `patience`.
    void flush_stale(Clock::time_point now, Sink const& sink);
    /// Gives whatever is left; the stream has ended.
    void finish(Sink const& sink);
    /// When flush_stale is next due; time_point::max() if nothing waits.
    Clock::time_point due() const;

private:
    void keep(std::string_view bytes, Clock::time_point now, Sink const& sink);
    void give_part(Sink const& sink);
    void give(std::string_view bytes, Sink const& sink);

    Clock::duration patience_;
    std::size_t longest_;
    std::string part_;
    Clock::time_point since_{};
    bool continued_ = false;  ///< what was given last did not end its line
};

}  // namespace sinew::launch
