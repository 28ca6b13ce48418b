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
/// Output is read only while `reading` is on: a slow reader at the far end stops the rank's writes,
/// nothing is kept here. The process must be ended before this goes (kill, then the exit call).
class LocalRank {
public:
    struct End {
        int code = 0;
        int signal = 0;  ///< 0: by exit
    };
    struct Callbacks {
        /// stream is 1 or 2.
        std::function<void(int stream, LineAssembler::Piece)> output;
        /// The process has ended. What it had written comes first, as far as reading is on.
        std::function<void(End const&)> ended;
        /// That many bytes of standard input have been taken.
        std::function<void(std::size_t)> consumed;
    };

    LocalRank(wire::Loop& loop, int rank, Callbacks callbacks);
    LocalRank(LocalRank const&) = delete;
    ~LocalRank();
    /// The request's streams and process group are ours to set. False: `failure` has the reason.
    bool start(SpawnRequest request, bool with_stdin, Spawned& failure);

    int rank() const { return rank_; }
    pid_t pid() const { return pid_; }
    bool running() const { return running_; }
    /// To the whole process group, also after the process itself has ended.
    void signal(int number) const;
    void reading(bool on);
    bool has_output() const { return streams_[0].from || streams_[1].from; }
    /// For the end, when all it had started has been killed and reaped: takes what is left in the
    /// pipes and closes them, whoever outside the job may hold the other ends; later, where reading
    /// is off now. Its number is not used any more.
    void wind_up();
    /// Empty: the end.
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
