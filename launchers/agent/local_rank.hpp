// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "launchers/io/lines.hpp"
#include "src/base/system/spawn.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// One rank on this node: its process and its three standard streams.
///
/// Output is read only while `reading` is on and is not queued here, so that a slow reader at the
/// far end blocks the rank's writes. The process must be killed before this object is destroyed.
class LocalRank {
public:
    struct End {
        int code = 0;
        int signal = 0;  ///< 0: it exited with `code`
    };
    struct Callbacks {
        /// Called for each piece of output; `stream` is 1 (stdout) or 2 (stderr).
        std::function<void(int stream, LineAssembler::Piece)> output;
        /// Called when the process has ended, after its output if reading is on.
        std::function<void(End const&)> ended;
        /// Called when that many bytes of input have been written to the rank or discarded.
        std::function<void(std::size_t)> consumed;
    };

    LocalRank(wire::Loop& loop, int rank, Callbacks callbacks);
    LocalRank(LocalRank const&) = delete;
    ~LocalRank();
    /// Sets the streams of `request` and starts it. Returns false with the reason in `failure`.
    bool start(SpawnRequest request, bool with_stdin, Spawned& failure);

    int rank() const { return rank_; }
    pid_t pid() const { return pid_; }
    bool running() const { return running_; }
    /// Sends a signal to the whole process group, also after the process itself has ended.
    void signal(int number) const;
    void reading(bool on);
    bool has_output() const { return streams_[0].from || streams_[1].from; }
    /// Reads what is left in the pipes and closes them, even if processes outside the job hold the
    /// other ends. If reading is off, closing is left to a later call. Requires: all descendants
    /// have been killed and reaped; the process id is not used afterwards.
    void wind_up();
    /// Queues bytes for standard input; an empty string closes it.
    void input(std::string bytes);

private:
    struct Stream {
        UniqueFd from;
        wire::Loop::Handle watch;
        LineAssembler lines;
    };
    void on_readable(int index);
    std::size_t read_some(int index);
    void read_all();
    void close_stream(int index);
    void schedule_flush();
    void on_ended();
    void write_input();
    void end_input();

    wire::Loop& loop_;
    int rank_;
    Callbacks callbacks_;
    pid_t pid_ = 0;
    UniqueFd ended_;
    wire::Loop::Handle ended_watch_, flush_, input_watch_;
    std::array<Stream, 2> streams_;
    UniqueFd input_;
    std::deque<std::string> input_queue_;
    std::size_t input_offset_ = 0;
    bool running_ = false, reading_ = true;
};

}  // namespace sinew::launch
