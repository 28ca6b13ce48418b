// SPDX-License-Identifier: Apache-2.0
#include "launchers/agent/report_socket.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "src/wire/socket/sockets.hpp"

namespace sinew::launch {
namespace {

constexpr std::size_t most_clients = 256;
constexpr std::size_t longest_line = std::size_t{32} << 10;

}  // namespace

ReportSocket::ReportSocket(wire::Loop& loop, std::string path, Send send)
    : loop_(loop), path_(std::move(path)), send_(std::move(send)),
      listener_(wire::listening_socket(wire::Address::unix_socket(path_))) {
    listen();
}

ReportSocket::~ReportSocket() { ::unlink(path_.c_str()); }

void ReportSocket::listen() {
    accepting_ = loop_.readable(listener_.get(), [this] { accept(); });
}

void ReportSocket::accept() {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) {
        // Without descriptors the loop would call again and again.
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
            accepting_ = loop_.after(std::chrono::seconds(1), [this] { listen(); });
        return;
    }
    ucred peer{};
    socklen_t length = sizeof peer;
    if (!wire::check_peer_user(fd.get()).empty() || clients_.size() >= most_clients ||
        ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return;
    auto const at = clients_.emplace(clients_.end());
    at->fd = std::move(fd);
    at->pid = peer.pid;
    at->readable = loop_.readable(at->fd.get(), [this, at] { on_readable(at); });
}

void ReportSocket::on_readable(Clients::iterator at) {
    std::array<char, 8192> buffer;
    ssize_t const count = ::recv(at->fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return hang_up(at);
    at->in.append(buffer.data(), static_cast<std::size_t>(count));
    auto const end = at->in.rfind('\n');
    if (end != std::string::npos) {
        auto const begin = end == 0 ? std::string::npos : at->in.rfind('\n', end - 1);
        auto const first = begin == std::string::npos ? 0 : begin + 1;
        at->line = at->in.substr(first, end - first);
        at->in.erase(0, end + 1);
    }
    if (at->in.size() > longest_line || at->line.size() > longest_line) return hang_up(at);
    send_next();
}

// What it said last is sent before that it has gone.
void ReportSocket::hang_up(Clients::iterator at) {
    at->readable = {};
    at->fd = {};
    at->gone = true;
    send_next();
}

void ReportSocket::taken() {
    under_way_ = false;
    send_next();
}

void ReportSocket::send_next() {
    if (under_way_) return;
    auto const next = std::ranges::find_if(
        clients_, [](Client const& each) { return !each.line.empty() || each.gone; });
    if (next == clients_.end()) return;
    under_way_ = true;
    ReportHead head{.pid = next->pid, .gone = 0};
    if (!next->line.empty()) {
        auto const line = std::exchange(next->line, {});
        clients_.splice(clients_.end(), clients_, next);
        return send_(head, line);
    }
    head.gone = 1;
    clients_.erase(next);
    send_(head, {});
}

}  // namespace sinew::launch
