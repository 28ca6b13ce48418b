// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/console.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <filesystem>
#include <utility>

#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::kubernetes {
namespace {

constexpr long long progress_pause_ms = 2000;
constexpr std::size_t most_said = 64 << 10;

long long now_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace

Console::Console(OutputPrinter::Options options, int verbosity, std::function<bool()> give_up)
    : printer_(std::move(options)), verbosity_(verbosity), give_up_(std::move(give_up)),
      terminal_(::isatty(STDERR_FILENO) == 1) {}

Console::~Console() { end_progress(); }

void Console::output(OutputRecord const& record) {
    end_progress();
    printer_.print(record.rank, record.node, record.stream, record.piece(), record.time);
    flush();
}

void Console::notice(std::string_view line, int verbosity) {
    if (said_.size() < most_said) said_ += text(line, "\n");
    if (verbosity_ < verbosity) return;
    end_progress();
    printer_.end_line(OutputStream::err);
    flush();
    write(STDERR_FILENO, text(line, "\n"));
}

void Console::result(std::string_view line) {
    end_progress();
    printer_.end_line(OutputStream::out);
    flush();
    write(STDOUT_FILENO, text(line, "\n"));
}

void Console::progress(std::string const& line) {
    if (verbosity_ < 0 || line == progress_) return;
    if (!terminal_) {
        if (progress_at_ms_ != 0 && now_ms() - progress_at_ms_ < progress_pause_ms) return;
        progress_at_ms_ = now_ms();
        progress_ = line;
        return write(STDERR_FILENO, text("sinew: ", line, "\n"));
    }
    progress_ = line;
    progress_shown_ = true;
    write(STDERR_FILENO, text("\r\033[Ksinew: ", line));
}

void Console::end_progress() {
    if (std::exchange(progress_shown_, false)) write(STDERR_FILENO, "\r\033[K");
    if (terminal_) progress_.clear();
}

bool Console::has_said(std::string_view words) const { return said_.find(words) != words.npos; }

void Console::flush() {
    for (auto const& piece : printer_.take()) {
        if (piece.target != OutputWrite::Target::file) {
            bool const out = piece.target == OutputWrite::Target::out;
            write(out ? STDOUT_FILENO : STDERR_FILENO, piece.bytes);
            continue;
        }
        bool const first = begun_.insert(piece.path).second;
        std::error_code ignored;  // open() reports it
        if (first)
            std::filesystem::create_directories(std::filesystem::path(piece.path).parent_path(),
                                                ignored);
        UniqueFd const file(::open(piece.path.c_str(),
                                   O_WRONLY | O_CREAT | O_CLOEXEC | (first ? O_TRUNC : O_APPEND),
                                   0666));
        if (!file && error_ == 0) error_ = errno;
        if (file) write(file.get(), piece.bytes);
    }
}

void Console::write(int fd, std::string_view bytes) {
    while (!bytes.empty() && error_ == 0) {
        // So much fits into a pipe that is ready, without waiting.
        pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
        if (::poll(&ready, 1, 100) == 0) {
            if (give_up_()) error_ = ECANCELED;
            continue;
        }
        ssize_t const count =
            ::write(fd, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) error_ = errno;
        else bytes.remove_prefix(static_cast<std::size_t>(count));
    }
}

}  // namespace sinew::launch::kubernetes
