// SPDX-License-Identifier: Apache-2.0
#include "launchers/dashboard/http/http_server.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/wire/socket/sockets.hpp"

namespace sinew::launch::dashboard {
namespace {

using namespace std::chrono_literals;

// Between an answer and the end of the connection the client's last bytes are read: a reset would
// take the answer with it.
constexpr auto linger_time = 1s;
constexpr std::size_t most_discarded = std::size_t{1} << 20;
// A comment now and then shows whether the reader is still there.
constexpr auto heartbeat = 10s;
constexpr auto watched_time = 1s;

UniqueFd listen_at(std::uint16_t port) {
    try {
        return wire::listening_socket(wire::Address::tcp("127.0.0.1", port));
    } catch (SystemError const& problem) {
        throw SystemError(text("the dashboard cannot listen at port ", port, " of 127.0.0.1 (",
                               problem.what(), "). Choose another port, or none"),
                          problem.error_number());
    }
}

}  // namespace

HttpServer::HttpServer(wire::Loop& loop, State const& state, Token const& token, std::uint16_t port,
                       Limits limits)
    : loop_(loop), state_(state), token_(token), limits_(limits), listener_(listen_at(port)),
      port_(wire::bound_port(listener_.get())) {
    listen();
}

void HttpServer::listen() {
    accepting_ = loop_.readable(listener_.get(), [this] { accept(); });
}

void HttpServer::accept() {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) {
        // Without descriptors the loop would call again and again.
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
            accepting_ = loop_.after(1s, [this] { listen(); });
        return;
    }
    if (clients_.size() >= limits_.connections && !make_room()) {
        auto const bytes = refusal(503, "too many clients; try again").bytes;
        [[maybe_unused]] auto const sent =
            ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        return;
    }
    wire::set_tcp_options(fd.get());
    auto const at = clients_.emplace(clients_.end());
    at->fd = std::move(fd);
    at->readable = loop_.readable(at->fd.get(), [this, at] { on_readable(at); });
    at->patience = loop_.after(limits_.head, [this, at] { clients_.erase(at); });
}

// Who has connected and not asked yet gives way: otherwise anybody on this host could keep out those
// who have the token.
bool HttpServer::make_room() {
    auto const oldest = std::ranges::find_if(clients_, [](Client const& each) {
        return each.phase == Client::Phase::reading || each.phase == Client::Phase::lingering;
    });
    if (oldest == clients_.end()) return false;
    clients_.erase(oldest);
    return true;
}

void HttpServer::on_readable(Clients::iterator at) {
    std::array<char, 4096> buffer;
    ssize_t const count = ::recv(at->fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return void(clients_.erase(at));
    if (at->phase != Client::Phase::reading) {
        at->discarded += static_cast<std::size_t>(count);
        if (at->discarded > most_discarded) clients_.erase(at);
        return;
    }
    int const status =
        at->reader.take(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
    if (status == 0) return;
    if (status != 200)
        return reply(at, refusal(status, "this is no request that is answered here"));
    auto answer =
        dashboard::answer(at->reader.request(), state_, token_, std::chrono::system_clock::now());
    if (answer.streams && streams() >= limits_.streams)
        answer = refusal(503, text("it serves ", limits_.streams, " pages already. Close one"));
    reply(at, std::move(answer));
}

bool HttpServer::is_watched() const {
    auto const at = watched_.load();
    return at != never && wire::Clock::now().time_since_epoch() - wire::Clock::duration(at) <
                              std::max<Duration>(watched_time, 2 * limits_.period);
}

std::size_t HttpServer::streams() const {
    return static_cast<std::size_t>(std::ranges::count(
        clients_, Client::Phase::streaming, [](Client const& each) { return each.phase; }));
}

void HttpServer::reply(Clients::iterator at, Answer answer) {
    at->out = std::move(answer.bytes);
    at->phase = answer.streams ? Client::Phase::streaming : Client::Phase::sending;
    at->spoken = wire::Clock::now();
    at->patience = {};
    if (answer.streams) {
        if (!ticking_) ticking_ = loop_.every(limits_.period, [this] { tick(); });
        note_watched();
        push(at);
    }
    pump(at);
}

// Sends what the kernel takes.
void HttpServer::pump(Clients::iterator at) {
    ssize_t const count = ::send(at->fd.get(), at->out.data() + at->sent, at->out.size() - at->sent,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return void(clients_.erase(at));
    if (count > 0) at->sent += static_cast<std::size_t>(count);
    if (at->sent == at->out.size()) return all_sent(at);
    if (!at->writable) at->writable = loop_.writable(at->fd.get(), [this, at] { pump(at); });
    if (!at->patience)
        at->patience = loop_.after(limits_.sending, [this, at] { clients_.erase(at); });
}

void HttpServer::all_sent(Clients::iterator at) {
    at->out.clear();
    at->sent = 0;
    at->writable = {};
    at->patience = {};
    if (at->phase != Client::Phase::streaming || at->told_end) return linger(at);
    if (!finishing_) return;
    push(at);
    pump(at);
}

void HttpServer::linger(Clients::iterator at) {
    ::shutdown(at->fd.get(), SHUT_WR);
    at->phase = Client::Phase::lingering;
    at->patience = loop_.after(linger_time, [this, at] { clients_.erase(at); });
}

void HttpServer::tick() {
    bool any = false;
    auto const now = wire::Clock::now();
    auto const version = state_.version();
    for (auto at = clients_.begin(); at != clients_.end();) {
        auto const client = at++;
        if (client->phase != Client::Phase::streaming) continue;
        any = true;
        if (!client->out.empty()) continue;  // it reads slowly
        if (client->cursor.version != version) push(client);
        else if (now - client->spoken >= heartbeat) client->out = ":\n\n";
        else continue;
        client->spoken = now;
        pump(client);
    }
    if (any) note_watched();
    else ticking_ = {};
}

// JSON has no line breaks of its own.
void HttpServer::push(Clients::iterator at) {
    at->out += "data: ";
    at->out += changes(state_, at->cursor, std::chrono::system_clock::now());
    at->out += "\n\n";
    if (!finishing_) return;
    at->out += "event: end\ndata: {}\n\n";
    at->told_end = true;
}

void HttpServer::finish() {
    finishing_ = true;
    accepting_ = {};
    listener_ = {};
    for (auto at = clients_.begin(); at != clients_.end();) {
        auto const client = at++;
        if (client->phase == Client::Phase::reading) {
            clients_.erase(client);
        } else if (client->phase == Client::Phase::streaming && client->out.empty()) {
            push(client);
            pump(client);
        }
    }
}

}  // namespace sinew::launch::dashboard
