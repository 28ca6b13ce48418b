// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "launchers/common/loop_gate.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// Writes to files that may block (a pipe that is not read, a terminal held by Ctrl-S) on a
/// separate thread, so that the launcher keeps running. The agents' credit bounds the queue.
class OutputWriter {
public:
    /// Called on the loop after a piece was written (`error` is 0) or failed (`error` is an errno).
    using Written = std::function<void(int error)>;

    /// `on_idle` is called on the loop each time the last queued piece is done, after that piece's
    /// own callback.
    OutputWriter(wire::Loop& loop, std::function<void()> on_idle);
    OutputWriter(OutputWriter const&) = delete;
    /// Writes what is queued first, and blocks meanwhile; see `idle`.
    ~OutputWriter();

    /// Queues bytes, which are written in the order of the calls. `written` may be empty. For the
    /// loop's thread, as is write_file.
    void write(int fd, std::string bytes, Written written);
    /// Appends to a file. The first time it is created, with its folder, or emptied.
    void write_file(std::string path, std::string bytes, Written written);
    /// Whether nothing is queued or being written. For the loop's thread.
    bool idle() const { return waiting_ == 0; }
    /// The number of pieces that are done so far. For the loop's thread.
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

    LoopGate gate_;
    std::function<void()> on_idle_;
    std::size_t waiting_ = 0, written_ = 0;  ///< used on the loop's thread only
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Piece> pieces_;
    bool ending_ = false;
    std::set<std::string> begun_;  ///< files that were emptied; used by the thread only
    std::thread thread_;
};

}  // namespace sinew::launch
