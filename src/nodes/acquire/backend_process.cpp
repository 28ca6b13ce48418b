// SPDX-License-Identifier: Apache-2.0
#include "src/nodes/acquire/backend_process.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sinew/error.hpp>
#include <sinew/task/encoding.hpp>
#include <string_view>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/nodes/acquire/find_command.hpp"
#include "src/process/child/child_environment.hpp"
#include "src/process/child/spawner.hpp"

namespace sinew::nodes {
namespace {

constexpr std::size_t longest_line = std::size_t{1} << 20;

std::string end_of(int status) {
    if (WIFEXITED(status)) return text("has exited with code ", WEXITSTATUS(status));
    return text("was killed by signal ", WTERMSIG(status), " (", ::strsignal(WTERMSIG(status)),
                ")");
}

}  // namespace

BackendProcess::BackendProcess(wire::Loop& loop, Callbacks callbacks)
    : loop_(loop), callbacks_(std::move(callbacks)) {}

void BackendProcess::start() {
    // A write to a socket whose other end is gone raises no SIGPIPE if it says so.
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        throw SystemError(text("socketpair failed (", std::strerror(errno), "). See ulimit -n"),
                          errno);
    UniqueFd const in(ends[0]);
    UniqueFd in_end(ends[1]);
    auto [out, out_end] = make_pipe();
    // Under another number than 1, which is the protocol's: where the nodes' output goes.
    UniqueFd const output(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    SpawnRequest request;
    request.path = find_command();
    request.argv = {"sinew", "acquire"};
    request.env = process::child_environment({});
    request.in = in.get();
    request.out = out_end.get();
    request.only_kept = true;
    request.death_signal = SIGTERM;
    if (output) {
        request.argv.push_back(text("--output-fd=", output.get()));
        request.keep.push_back(output.get());
    }
    auto spawned = process::spawn_in_lasting_thread(request);
    if (spawned.error != 0)
        throw SystemError(text(request.path, " cannot be started (", spawned.step, ": ",
                               std::strerror(spawned.error), "). See ulimit -u"),
                          spawned.error);
    pid_ = spawned.pid;
    in_ = std::move(in_end);
    out_ = std::move(out);
    ended_ = std::move(spawned.ended);
    ::fcntl(in_.get(), F_SETFL, O_NONBLOCK);
    ::fcntl(out_.get(), F_SETFL, O_NONBLOCK);
    // Each handle keeps this object until the child has been reaped.
    auto const self = shared_from_this();
    reading_ = loop_.readable(out_.get(), [self] { self->read(); });
    ending_ = loop_.readable(ended_.get(), [self] { self->on_end(); });
}

void BackendProcess::tell(std::string const& line) {
    if (!in_) return;
    to_write_ += line;
    write();
}

void BackendProcess::close() {
    callbacks_ = {};
    if (to_write_.empty()) in_ = {};
}

// A process that reads slowly does not delay this one. What cannot be written any more is dropped:
// the end of the child is reported.
void BackendProcess::write() {
    while (!to_write_.empty()) {
        ssize_t const count = ::send(in_.get(), to_write_.data(), to_write_.size(), MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) {
            if (!writing_)
                writing_ =
                    loop_.writable(in_.get(), [self = shared_from_this()] { self->write(); });
            return;
        }
        if (count < 0) break;
        to_write_.erase(0, static_cast<std::size_t>(count));
    }
    to_write_.clear();
    writing_ = {};
    if (!callbacks_.ended) in_ = {};  // close() was called meanwhile
}

// Returns whether there may be more.
bool BackendProcess::read() {
    auto const self = shared_from_this();
    std::array<char, 4096> buffer;
    ssize_t const count = ::read(out_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) return true;
    if (count < 0 && errno == EAGAIN) return false;
    if (count <= 0) {
        reading_ = {};
        return false;
    }
    line_.append(buffer.data(), static_cast<std::size_t>(count));
    for (std::size_t end = 0; (end = line_.find('\n')) != std::string::npos;) {
        auto const line = line_.substr(0, end);
        line_.erase(0, end + 1);
        auto const event = callbacks_.event;
        if (!event) continue;
        try {
            event(parse_event(line));
        } catch (DecodeError const& problem) {
            log_warning(problem.what());
        }
    }
    if (line_.size() > longest_line) {
        log_warning("a line of sinew acquire is too long; it is ended");
        ::kill(pid_, SIGKILL);  // it is our child and has not been reaped
        reading_ = {};
        return false;
    }
    return true;
}

void BackendProcess::on_end() {
    auto const self = shared_from_this();
    int status = 0;
    if (!reap(pid_, status)) return;
    ending_ = {};
    while (reading_ && read()) {}  // what it said before
    reading_ = {};
    writing_ = {};
    in_ = {};
    if (auto const ended = std::exchange(callbacks_, {}).ended)
        ended(text("sinew acquire (pid ", pid_, ") ", end_of(status)));
}

}  // namespace sinew::nodes
