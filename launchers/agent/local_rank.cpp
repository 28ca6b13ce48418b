// SPDX-License-Identifier: Apache-2.0
#include "launchers/agent/local_rank.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <vector>

#include "launchers/common/pipe_size.hpp"

namespace sinew::launch {
namespace {

constexpr std::size_t read_size = 256 * 1024;

// For the agent's ends only: the flag belongs to the open file, and a rank's stdout must block.
void make_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

}  // namespace

LocalRank::LocalRank(wire::Loop& loop, int rank, Callbacks callbacks)
    : loop_(loop), rank_(rank), callbacks_(std::move(callbacks)) {}

bool LocalRank::start(SpawnRequest request, bool with_stdin, Spawned& failure) {
    auto [out, out_end] = make_pipe();
    auto [err, err_end] = make_pipe();
    UniqueFd in_end;
    if (with_stdin) {
        auto [read, write] = make_pipe();
        in_end = std::move(read);
        input_ = std::move(write);
        make_nonblocking(input_.get());
    }
    request.in = in_end.get();
    request.out = out_end.get();
    request.err = err_end.get();
    request.death_signal = SIGKILL;
    auto spawned = spawn(request);
    if (spawned.error != 0) {
        failure = std::move(spawned);
        return false;
    }
    pid_ = spawned.pid;
    ended_ = std::move(spawned.ended);
    running_ = true;
    ended_watch_ = loop_.readable(ended_.get(), [this] {
        // Deferred by a turn, so that work already posted (the rank has finalized) runs first.
        ended_watch_ = loop_.after({}, [this] { on_ended(); });
    });
    streams_[0].from = std::move(out);
    streams_[1].from = std::move(err);
    for (auto const& stream : streams_) make_nonblocking(stream.from.get());
    reading(true);
    return true;
}

void LocalRank::signal(int number) const {
    if (pid_ > 0) ::kill(-pid_, number);
}

void LocalRank::reading(bool on) {
    bool const again = on && !reading_;
    reading_ = on;
    for (int index = 0; index < 2; ++index) {
        auto& stream = streams_[index];
        // While reading was off, the rank may have been blocked in the middle of a line.
        if (again) stream.lines.wait_anew(LineAssembler::Clock::now());
        stream.watch = {};
        if (on && stream.from)
            stream.watch = loop_.readable(stream.from.get(), [this, index] { on_readable(index); });
    }
    if (on) schedule_flush();
}

void LocalRank::on_readable(int index) {
    read_some(index);
    schedule_flush();
}

// Returns the number of bytes read; 0 if nothing is available or the stream has ended.
std::size_t LocalRank::read_some(int index) {
    auto& stream = streams_[index];
    static std::vector<char> buffer(read_size);  // shared: all ranks are read on the loop's thread
    ssize_t const count = ::read(stream.from.get(), buffer.data(), buffer.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    auto const give = [&](LineAssembler::Piece piece) { callbacks_.output(index + 1, piece); };
    if (count > 0) {
        stream.lines.feed({buffer.data(), static_cast<std::size_t>(count)},
                          LineAssembler::Clock::now(), give);
        return static_cast<std::size_t>(count);
    }
    close_stream(index);
    return 0;
}

void LocalRank::close_stream(int index) {
    auto& stream = streams_[index];
    stream.lines.finish([&](LineAssembler::Piece piece) { callbacks_.output(index + 1, piece); });
    stream.watch = {};
    stream.from = {};
}

void LocalRank::schedule_flush() {
    auto const due = std::min(streams_[0].lines.due(), streams_[1].lines.due());
    if (due == LineAssembler::Clock::time_point::max()) {
        flush_ = {};
        return;
    }
    if (flush_) return;
    flush_ = loop_.after(due - LineAssembler::Clock::now(), [this] {
        flush_ = {};
        // Reads first: a line is stale only if the program has left it unfinished, not if its rest
        // waits in the pipe. While reading is off that is not known, and nothing is flushed.
        if (!reading_) return;
        for (int index = 0; index < 2; ++index)
            if (streams_[index].from) read_some(index);
        for (int index = 0; index < 2; ++index)
            streams_[index].lines.flush_stale(LineAssembler::Clock::now(), [&](auto piece) {
                callbacks_.output(index + 1, piece);
            });
        schedule_flush();
    });
}

// Reads what is available, but no more than the pipes hold: another process may keep writing.
void LocalRank::read_all() {
    for (int index = 0; index < 2; ++index)
        for (auto left = pipe_size(streams_[index].from.get());
             left > 0 && reading_ && streams_[index].from;) {
            auto const taken = read_some(index);
            if (taken == 0) break;
            left -= std::min(left, taken);
        }
    schedule_flush();
}

void LocalRank::wind_up() {
    pid_ = 0;
    ended_watch_ = {};
    running_ = false;
    end_input();
    read_all();
    for (int index = 0; index < 2; ++index)
        if (reading_ && streams_[index].from) close_stream(index);
}

// The process is not reaped here: as a zombie it reserves the id of its process group, so that
// signals to the group reach only processes that the rank has left behind.
void LocalRank::on_ended() {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid != pid_)
        return;
    ended_watch_ = {};
    running_ = false;
    end_input();
    read_all();
    End const end{.code = info.si_code == CLD_EXITED ? info.si_status : 0,
                  .signal = info.si_code == CLD_EXITED ? 0 : info.si_status};
    callbacks_.ended(end);
}

LocalRank::~LocalRank() {
    int status = 0;
    if (pid_ > 0) reap(pid_, status);
}

void LocalRank::input(std::string bytes) {
    if (!input_) {
        if (!bytes.empty()) callbacks_.consumed(bytes.size());  // the rank has no standard input
        return;
    }
    input_queue_.push_back(std::move(bytes));
    write_input();
}

void LocalRank::write_input() {
    while (!input_queue_.empty()) {
        auto const& bytes = input_queue_.front();
        if (bytes.empty()) return end_input();
        ssize_t const count =
            ::write(input_.get(), bytes.data() + input_offset_, bytes.size() - input_offset_);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) {
            if (!input_watch_)
                input_watch_ = loop_.writable(input_.get(), [this] { write_input(); });
            return;
        }
        if (count < 0) return end_input();  // EPIPE: the rank has closed its standard input
        input_offset_ += static_cast<std::size_t>(count);
        if (input_offset_ == bytes.size()) {
            callbacks_.consumed(bytes.size());
            input_queue_.pop_front();
            input_offset_ = 0;
        }
    }
    input_watch_ = {};
}

void LocalRank::end_input() {
    input_watch_ = {};
    input_ = {};
    input_offset_ = 0;
    auto const left = std::exchange(input_queue_, {});
    for (auto const& bytes : left)
        if (!bytes.empty()) callbacks_.consumed(bytes.size());
}

}  // namespace sinew::launch
