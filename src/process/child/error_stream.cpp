// SPDX-License-Identifier: Apache-2.0
#include "src/process/child/error_stream.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <string_view>
#include <utility>

#include "src/base/system/work_thread.hpp"

namespace sinew::process {
namespace {

constexpr std::size_t most_unwritten = std::size_t{256} << 10;
constexpr std::size_t kept = 2 * ErrorStream::tail_size;

std::atomic<bool> has_writer{false};

// The thread that writes to standard error, so that a slow reader (an unread pipe, a terminal
// stopped by Ctrl-S) does not block the runtime.
WorkThread& writer() {
    static auto* const thread = new WorkThread("that reads the standard error of children");
    has_writer = true;
    return *thread;
}

// Drops output that cannot be written (closed, disk full).
void put(std::string_view bytes) {
    while (!bytes.empty()) {
        ssize_t const count = ::write(STDERR_FILENO, bytes.data(), bytes.size());
        if (count > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) {
            pollfd waiting{STDERR_FILENO, POLLOUT, 0};
            ::poll(&waiting, 1, -1);
        } else if (errno != EINTR) {
            return;
        }
    }
}

}  // namespace

ErrorStream::ErrorStream(wire::Loop& loop, UniqueFd pipe) : loop_(loop), pipe_(std::move(pipe)) {
    writer();  // made here, since it may throw
    ::fcntl(pipe_.get(), F_SETFL, ::fcntl(pipe_.get(), F_GETFL) | O_NONBLOCK);
}

ErrorStream::~ErrorStream() = default;

void ErrorStream::start() {
    self_ = shared_from_this();
    watch();
}

void ErrorStream::watch() {
    if (pipe_ && !readable_ && unwritten_ < most_unwritten)
        readable_ = loop_.readable(pipe_.get(), [this] {
            auto const self = shared_from_this();
            read_some();
        });
}

// Returns false if there is no data now, or no data will follow.
bool ErrorStream::read_some() {
    std::array<char, 16384> buffer;
    ssize_t const count = ::read(pipe_.get(), buffer.data(), buffer.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (count <= 0) {
        readable_ = {};
        pipe_ = UniqueFd();
        tell_written();
        return false;
    }
    auto const size = static_cast<std::size_t>(count);
    tail_.append(buffer.data(), size);
    if (tail_.size() > kept) {
        tail_.erase(0, tail_.size() - tail_size);
        cut_ = true;
    }
    unwritten_ += size;
    writer().add([this, self = shared_from_this(), bytes = std::string(buffer.data(), size)] {
        put(bytes);
        loop_.post([self, size = bytes.size()] {
            self->unwritten_ -= size;
            self->watch();
            self->tell_written();
        });
    });
    if (unwritten_ >= most_unwritten) readable_ = {};
    return true;
}

void ErrorStream::child_ended(std::function<void()> written) {
    // A pipe holds less than 64 reads of the child's output. Its forks' output may be cut.
    for (int i = 0; i < 64 && pipe_ && read_some(); ++i) {}
    written_ = std::move(written);
    tell_written();
}

void ErrorStream::tell_written() {
    if (unwritten_ > 0) return;
    if (auto const written = std::exchange(written_, nullptr)) written();
    if (!pipe_) self_ = nullptr;
}

std::string ErrorStream::tail() const {
    if (!cut_ && tail_.size() <= tail_size) return tail_;
    auto const from = std::max(tail_.size(), tail_size) - tail_size;
    auto const line = tail_.find('\n', from);
    return tail_.substr(line == tail_.npos || line + 1 == tail_.size() ? from : line + 1);
}

void finish_error_output(wire::Clock::duration patience) {
    if (has_writer) writer().finish(patience);
}

}  // namespace sinew::process
