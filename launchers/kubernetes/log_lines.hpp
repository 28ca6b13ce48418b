// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace sinew::launch::kubernetes {

/// Gives the lines of a container's log exactly once, although the log is read again in part after
/// each connection that was lost. Each line comes as "TIME text", in the order in which it was
/// written. No line is lost if the clock of the node is set back; if a connection is lost before the
/// clock is where it was, lines may be given twice. Without I/O.
class LogLines {
public:
    /// `line` is called with the text of each line, without its newline.
    explicit LogLines(std::function<void(std::string_view line)> line) : line_(std::move(line)) {}

    /// Bytes of the log, cut anywhere.
    void add(std::string_view data);
    /// The log has been read to its end: what is there of a last line without newline is given.
    void end();
    /// The log is read again from since() on, or from an earlier line.
    void reopen();
    /// The time of the last line given, RFC 3339; empty if there was none.
    std::string const& since() const { return last_time_; }

private:
    void on_line(std::string_view line);

    std::function<void(std::string_view)> line_;
    std::string partial_;  ///< a line whose end has not arrived
    std::string last_time_;
    int with_last_time_ = 0;  ///< consecutive lines, up to the last one given, that have this time
    bool repeats_ = false;    ///< lines that were given come again
    int to_skip_ = 0;         ///< of those with last_time_
};

}  // namespace sinew::launch::kubernetes
