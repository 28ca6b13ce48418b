// SPDX-License-Identifier: Apache-2.0
#include "launchers/io/input_source.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace sinew::launch {
namespace {

constexpr std::size_t piece = 64 * 1024;

// Regular files and directories cannot be polled, and do not block for long.
bool is_pollable(int fd) {
    struct ::stat about {};
    return ::fstat(fd, &about) == 0 &&
           (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode) || ::isatty(fd) == 1);
}

}  // namespace

InputSource::InputSource(wire::Loop& loop, int fd, Give give)
    : loop_(loop), fd_(fd), give_(std::move(give)), terminal_(::isatty(fd) == 1),
      pollable_(is_pollable(fd)) {}

void InputSource::want() {
    wanted_ = true;
    look();
}

void InputSource::look() {
    if (!wanted_) return;
    if (terminal_ && ::tcgetpgrp(fd_) != ::getpgrp()) {
        // A read in the background would stop this process; waits until it is in the foreground.
        later_ = loop_.after(std::chrono::milliseconds(500), [this] { look(); });
        return;
    }
    if (pollable_) watch_ = loop_.readable(fd_, [this] { read_some(); });
    else loop_.post([this] { read_some(); });
}

void InputSource::read_some() {
    watch_ = {};
    if (!wanted_) return;
    std::string bytes(piece, '\0');
    ssize_t const count = ::read(fd_, bytes.data(), bytes.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return look();
    wanted_ = false;
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    give_(std::move(bytes));
}

}  // namespace sinew::launch
