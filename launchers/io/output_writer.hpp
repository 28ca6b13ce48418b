// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// Writes to files that may be slow (a pipe nobody reads, a terminal held by Ctrl-S), on a thread of
/// its own, so that the launcher goes on. What waits here is bounded by whoever gives credit.
class OutputWriter {
public:
    /// Runs on the loop after a piece has been written (`error` 0) or could not be.
    using Written = std::function<void(int error)>;

    /// `on_idle` runs on the loop each time the last piece that waited is done with, after that
    /// piece's own callback.
    OutputWriter(wire::Loop& loop, std::function<void()> on_idle);
    OutputWriter(OutputWriter const&) = delete;
    /// Writes what is left first; see `idle`.
    ~OutputWriter();

    /// In the order of the calls. `written` may be empty.
    void write(int fd, std::string bytes, Written written);
    /// Appends to a file, which is made, with its folder, or emptied the first time.
    void write_file(std::string path, std::string bytes, Written written);
    /// Nothing waits. For the loop's thread.
    bool idle() const { return waiting_ == 0; }
    /// How many pieces have been, so far. For the loop's thread.
    std::size_t written() const { return written_; }

private:
    struct Piece {
        int fd;  ///< -1: the file at `path`
        std::string path;
        std::string bytes;
        Written written;
    };
    void push(Piece piece);
    int perform(Piece const& piece);
    void work();

    wire::Loop& loop_;
    std::function<void()> on_idle_;
    std::size_t waiting_ = 0, written_ = 0;  ///< on the loop's thread
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Piece> pieces_;
    bool ending_ = false;
    std::set<std::string> begun_;  ///< the thread's: files that were emptied
    std::thread thread_;
};

}  // namespace sinew::launch
