// SPDX-License-Identifier: Apache-2.0
#include "launchers/control/control_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/wire/socket/sockets.hpp"

namespace sinew::launch {
namespace {

using namespace std::chrono_literals;
using Verb = ControlRequest::Verb;

constexpr std::size_t most_clients = 16;
constexpr std::size_t most_unsent = std::size_t{256} << 10;  // of one client
constexpr auto request_time = 10s;
// At the end of the job: for a client that does not read, and for all together.
constexpr auto unheard_time = 50ms;
constexpr auto farewell_time = 500ms;
// Output is passed on in batches, so that clients take little of the loop's time.
constexpr auto between_batches = 10ms;

/// Who is at the other end. Empty: somebody who may not ask.
std::string peer_of(int fd) {
    ucred peer{};
    socklen_t length = sizeof peer;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return {};
    if (peer.uid != ::geteuid() && peer.uid != 0) return {};
    return text("user ", peer.uid, ", pid ", peer.pid);
}

}  // namespace

ControlServer::ControlServer(wire::Loop& loop, JobFolder const& folder, Settings settings,
                             Callbacks callbacks)
    : loop_(loop), settings_(settings), callbacks_(std::move(callbacks)),
      log_(settings_.log_bytes) {
    // By way of /proc, as the folder's path may be too long for the address of a socket.
    UniqueFd const place(::open(folder.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!place)
        throw SystemError(text(folder.path(), " cannot be opened (", std::strerror(errno), ")"),
                          errno);
    listener_ = wire::listening_socket(
        wire::Address::unix_socket(text("/proc/self/fd/", place.get(), "/", control_socket_name)));
    listen();
}

ControlServer::~ControlServer() {
    for (auto& client : clients_)
        if (client.reads) log_.close(client.reader);
}

void ControlServer::listen() {
    accepting_ = loop_.readable(listener_.get(), [this] { accept(); });
}

void ControlServer::accept() {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) {
        // Without descriptors the loop would call again and again.
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
            accepting_ = loop_.after(1s, [this] { listen(); });
        return;
    }
    auto const who = peer_of(fd.get());
    std::string refusal;
    if (who.empty()) refusal = "this job belongs to another user";
    else if (clients_.size() >= most_clients)
        refusal = text("it serves ", most_clients, " others already. Try again");
    if (!refusal.empty()) {
        auto const line = refused_line(refusal);
        [[maybe_unused]] auto const sent =
            ::send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        return;
    }
    auto const at = clients_.emplace(clients_.end());
    at->fd = std::move(fd);
    at->who = who;
    at->readable = loop_.readable(at->fd.get(), [this, at] { on_readable(at); });
    at->patience = loop_.after(request_time, [this, at] { drop(at); });
}

void ControlServer::on_readable(Clients::iterator at) {
    std::array<char, 4096> buffer;
    ssize_t const count = ::recv(at->fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    // Nothing may follow the request but the end.
    if (count <= 0 || at->asked) return drop(at);
    at->in.append(buffer.data(), static_cast<std::size_t>(count));
    auto const end = at->in.find('\n');
    if (end == std::string::npos && at->in.size() <= longest_request) return;
    at->asked = true;
    at->patience = {};
    try {
        answer(*at, std::string_view(at->in).substr(0, end));
    } catch (UsageError const& problem) {
        at->out = refused_line(problem.what());
        at->closing = true;
    }
    at->in = {};
    pump(at);
}

void ControlServer::answer(Client& client, std::string_view line) {
    auto request = parse_request(line);
    switch (request.verb) {
        case Verb::status:
            client.out = status_line(callbacks_.summary());
            client.closing = true;
            return;
        case Verb::stop:
            client.wants_end = true;
            client.out = stopping_line(callbacks_.stop(request, client.who));
            return;
        case Verb::attach:
        case Verb::logs:
            client.follows = request.follow || request.verb == Verb::attach;
            client.wants_end = client.follows;
            client.reads = true;
            client.reader.ranks = std::move(request.ranks);
            client.printer.emplace(OutputPrinter::Options{.json = true});
            log_.open(client.reader, request.tail);
            return;
    }
}

void ControlServer::output(OutputRecord record) {
    log_.append(std::move(record));
    pump_soon();
}

void ControlServer::pump_soon() {
    if (pump_due_) return;
    bool wanted = false;
    for (auto const& client : clients_) wanted = wanted || (client.follows && !client.writable);
    if (!wanted) return;
    pump_due_ = true;
    pumping_ = loop_.after(between_batches, [this] {
        pump_due_ = false;
        for (auto at = clients_.begin(); at != clients_.end();) {
            auto const next = std::next(at);
            if (at->follows && !at->writable) pump(at);
            at = next;
        }
    });
}

/// Whether there is something to send.
bool ControlServer::fill(Client& client) {
    while (client.reads && client.out.size() < most_unsent) {
        auto const piece = log_.read(client.reader);
        if (auto const missed = std::exchange(client.reader.missed, 0); missed > 0)
            client.out += skipped_line(missed);
        if (!piece) {
            if (client.follows) break;
            client.out += logs_end_line();
            client.closing = true;
            client.reads = false;
            log_.close(client.reader);
            break;
        }
        auto const& record = *piece->record;
        client.printer->print(record.rank, record.node, record.stream, piece->bytes, record.time);
        for (auto const& write : client.printer->take()) client.out += write.bytes;
    }
    return !client.out.empty();
}

/// Whether the client is there.
bool ControlServer::send(Client& client) {
    ssize_t const count =
        ::send(client.fd.get(), client.out.data(), client.out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    client.out.erase(0, static_cast<std::size_t>(count));
    return true;
}

/// Sends what the kernel takes, once. False: the client is gone.
bool ControlServer::pump(Clients::iterator at) {
    if (fill(*at) && !send(*at)) {
        drop(at);
        return false;
    }
    if (at->out.empty() && at->closing) {
        drop(at);
        return false;
    }
    auto const end = at->reads && at->reader.next < log_.end();
    if (at->out.empty() && !end) at->writable = {};
    else if (!at->writable) at->writable = loop_.writable(at->fd.get(), [this, at] { pump(at); });
    return true;
}

void ControlServer::drop(Clients::iterator at) {
    if (at->reads) log_.close(at->reader);
    clients_.erase(at);
}

void ControlServer::finish(int exit_code, std::string const& cause) {
    accepting_ = {};
    pumping_ = {};
    pump_due_ = true;
    auto const end = ended_line(exit_code, cause);
    auto const until = wire::Clock::now() + farewell_time;
    for (auto at = clients_.begin(); at != clients_.end();) {
        auto const client = at++;
        if (!client->asked) {
            drop(client);
            continue;
        }
        for (;;) {
            fill(*client);
            if (client->out.size() < most_unsent && std::exchange(client->wants_end, false))
                client->out += end;
            if (client->out.empty() || wire::Clock::now() > until) break;
            pollfd ready{.fd = client->fd.get(), .events = POLLOUT, .revents = 0};
            auto const limit = std::chrono::milliseconds(unheard_time).count();
            if (::poll(&ready, 1, static_cast<int>(limit)) != 1 || !send(*client)) break;
        }
        drop(client);
    }
}

}  // namespace sinew::launch
