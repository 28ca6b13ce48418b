// SPDX-License-Identifier: Apache-2.0
#include "launchers/verbs/control_connection.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/wire/socket/sockets.hpp"

namespace sinew::launch {

ControlConnection::ControlConnection(std::string const& folder) {
    auto const unavailable = [&](char const* what) {
        throw Unavailable(text("the job in ", folder, " cannot be asked (", what, ": ",
                               std::strerror(errno), "). Has it ended?"));
    };
    // By way of /proc, as the folder's path may be too long for the address of a socket.
    UniqueFd const place(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!place) unavailable("open");
    auto const address =
        wire::unix_address(text("/proc/self/fd/", place.get(), "/", control_socket_name));
    fd_ = wire::new_socket(AF_UNIX);
    if (::connect(fd_.get(), address.get(), address.length) != 0) unavailable("connect");
    ucred peer{};
    socklen_t length = sizeof peer;
    if (::getsockopt(fd_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
        peer.uid != ::geteuid())
        throw Unavailable(text("the job in ", folder, " is served by user ", peer.uid, " (must be ",
                               ::geteuid(), ")"));
    root_ = peer.pid;
    ended_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, root_, 0)));
}

bool ControlConnection::wait(int fd, short events, Clock::time_point deadline) const {
    for (;;) {
        auto const left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd ready{.fd = fd, .events = events, .revents = 0};
        auto const patience = std::clamp<std::int64_t>(left, 0, 1'000'000);
        int const found = ::poll(&ready, 1, static_cast<int>(patience));
        if (found > 0) return true;
        if (found < 0 && errno != EINTR) throw SystemError("poll failed", errno);
        if (found == 0 && left <= 0) return false;
    }
}

void ControlConnection::send(ControlRequest const& request) {
    auto const line = to_line(request);
    // It fits into the socket's buffer, except when it names very many ranks.
    for (std::string_view left = line; !left.empty();) {
        ssize_t const count = ::send(fd_.get(), left.data(), left.size(), MSG_NOSIGNAL);
        if (count > 0) left.remove_prefix(static_cast<std::size_t>(count));
        else if (count < 0 && errno == EAGAIN) {
            if (!wait(fd_.get(), POLLOUT, Clock::now() + std::chrono::seconds(10)))
                throw Timeout("the job does not take the request within 10 s. See sinew ps");
        } else if (errno != EINTR) {
            return;  // its answer, or the end of the connection, says why
        }
    }
}

std::optional<std::string> ControlConnection::line(Clock::time_point deadline) {
    std::array<char, 64 * 1024> buffer;
    for (;;) {
        auto const end = in_.find('\n', searched_);
        if (end != std::string::npos) {
            auto found = in_.substr(0, end + 1);
            in_.erase(0, end + 1);
            searched_ = 0;
            return found;
        }
        searched_ = in_.size();
        if (in_.size() > longest_answer)
            throw UsageError(text("an answer of more than ", longest_answer,
                                  " bytes. Is the job's sinew of the same version?"));
        ssize_t const count = ::recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (count > 0) {
            in_.append(buffer.data(), static_cast<std::size_t>(count));
        } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
            return std::nullopt;
        } else if (errno == EAGAIN && !wait(fd_.get(), POLLIN, deadline)) {
            throw Timeout(text("the job's sinew run (pid ", root_,
                               ") does not answer. Is it stopped? See ps -o stat ", root_));
        }
    }
}

std::optional<ControlAnswer> ControlConnection::answer(Clock::time_point deadline) {
    auto const found = line(deadline);
    if (!found) return std::nullopt;
    return parse_answer(*found);
}

bool ControlConnection::root_is_stopped() const {
    std::string words;
    std::getline(std::ifstream(text("/proc/", root_, "/stat")), words);
    // The name of the program, in parentheses, may hold anything.
    auto const end = words.rfind(')');
    return end != std::string::npos && end + 2 < words.size() &&
           (words[end + 2] == 'T' || words[end + 2] == 't');
}

void ControlConnection::continue_root() const {
    if (ended_) ::syscall(SYS_pidfd_send_signal, ended_.get(), SIGCONT, nullptr, 0);
}

bool ControlConnection::root_ends(Clock::time_point deadline) const {
    return !ended_ || wait(ended_.get(), POLLIN, deadline);
}

}  // namespace sinew::launch
