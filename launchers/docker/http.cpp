// SPDX-License-Identifier: Apache-2.0
#include "launchers/docker/http.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <cstring>
#include <limits>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/text.hpp"

namespace sinew::launch::docker {
namespace {

namespace http = boost::beast::http;
using namespace std::chrono_literals;

constexpr std::uint32_t largest_head = 64 << 10;
constexpr std::size_t largest_body = std::size_t{16} << 20;
constexpr std::size_t largest_unparsed = std::size_t{1} << 20;
constexpr std::size_t read_size = std::size_t{64} << 10;
constexpr auto sending_time = 30s;

[[noreturn]] void broken(std::string const& why) {
    throw Unavailable(text("the container engine's answer cannot be read (", why,
                           "). Is there a container engine at the socket?"));
}

// Waits for the event; false: not in time.
bool wait_for(int fd, short event, HttpConnection::Clock::time_point until) {
    for (;;) {
        auto const left = std::chrono::ceil<std::chrono::milliseconds>(
            std::max<HttpConnection::Clock::duration>(until - HttpConnection::Clock::now(), 0ms));
        pollfd ready{.fd = fd, .events = event, .revents = 0};
        int const count =
            ::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 3'600'000)));
        if (count > 0) return true;
        if (count < 0 && errno != EINTR) throw SystemError("poll has failed", errno);
        if (count == 0 && HttpConnection::Clock::now() >= until) return false;
    }
}

UniqueFd connect_to(std::string const& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        throw SystemError(text("the socket's path ", path, " is too long"), ENAMETOOLONG);
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd) throw SystemError("no socket can be made", errno);
    // An engine that is stopped accepts nobody: connect() waits when its queue is full, as long as a send would.
    timeval const longest{.tv_sec = std::chrono::seconds(sending_time).count(), .tv_usec = 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
    if (::connect(fd.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0)
        throw SystemError(text("nothing answers at ", path), errno);
    return fd;
}

}  // namespace

struct HttpConnection::Parser : http::response_parser<http::string_body> {
    bool started = false;
};

HttpConnection::HttpConnection(std::string const& path)
    : fd_(connect_to(path)), parser_(std::make_unique<Parser>()) {
    parser_->header_limit(largest_head);
    // Pieces are taken out as they come; body() limits their sum.
    parser_->body_limit(std::numeric_limits<std::uint64_t>::max());
}

HttpConnection::HttpConnection(HttpConnection&&) noexcept = default;
HttpConnection::~HttpConnection() = default;

void HttpConnection::send(HttpRequest const& request) {
    auto words = text(request.method, " ", request.target, " HTTP/1.1\r\nHost: docker\r\n",
                      "User-Agent: sinew\r\nContent-Length: ", request.body.size(), "\r\n");
    if (!request.body.empty()) words += "Content-Type: application/json\r\n";
    words += request.upgrade ? "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
                             : "Connection: close\r\n\r\n";
    words += request.body;
    auto const until = Clock::now() + sending_time;
    for (std::string_view left = words; !left.empty();) {
        ssize_t const count =
            ::send(fd_.get(), left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count > 0) left.remove_prefix(static_cast<std::size_t>(count));
        else if (count < 0 && errno == EAGAIN && !wait_for(fd_.get(), POLLOUT, until))
            throw Unavailable("the container engine has taken no request for 30 s. Restart it");
        else if (count < 0 && errno != EAGAIN && errno != EINTR)
            // It may have answered before it closed the connection.
            return;
    }
}

// Returns false at the end of the connection.
bool HttpConnection::read_more(Clock::duration limit) {
    std::array<char, read_size> buffer;
    if (arrived_.size() > largest_unparsed) broken("a line of it does not end");
    auto const until = Clock::now() + limit;
    for (;;) {
        if (!wait_for(fd_.get(), POLLIN, until))
            throw Timeout(text("the container engine has not answered for ",
                               std::chrono::duration_cast<std::chrono::seconds>(limit).count(),
                               " s"));
        ssize_t const count = ::recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (count > 0) arrived_.append(buffer.data(), static_cast<std::size_t>(count));
        if (count >= 0) return count > 0;
        if (errno != EINTR && errno != EAGAIN) broken(std::strerror(errno));
    }
}

int HttpConnection::head(Clock::duration limit) {
    while (!parser_->is_header_done()) {
        boost::system::error_code problem;
        auto const used =
            arrived_.empty() ? 0 : parser_->put(boost::asio::buffer(arrived_), problem);
        arrived_.erase(0, used);
        if (problem && problem != http::error::need_more) broken(problem.message());
        if (!parser_->is_header_done() && !read_more(limit))
            broken("the connection has been closed");
    }
    parser_->eager(true);
    return static_cast<int>(parser_->get().result_int());
}

std::string HttpConnection::header(std::string const& name) const {
    auto const found = parser_->get().find(name);
    return found == parser_->get().end() ? std::string() : std::string(found->value());
}

std::optional<std::string> HttpConnection::piece(Clock::duration limit) {
    while (!parser_->is_done()) {
        boost::system::error_code problem;
        if (!arrived_.empty()) {
            auto const used = parser_->put(boost::asio::buffer(arrived_), problem);
            arrived_.erase(0, used);
            if (problem && problem != http::error::need_more) broken(problem.message());
            auto body = std::exchange(parser_->get().body(), {});
            if (!body.empty()) return body;
            if (parser_->is_done()) break;
        }
        if (read_more(limit)) continue;
        parser_->put_eof(problem);
        if (problem) broken("it is incomplete");
        break;
    }
    auto body = std::exchange(parser_->get().body(), {});
    return body.empty() ? std::nullopt : std::optional(std::move(body));
}

std::string HttpConnection::body(Clock::duration limit) {
    std::string all;
    for (auto next = piece(limit); next; next = piece(limit)) {
        all += *next;
        if (all.size() > largest_body) broken("it has more than 16 MiB");
    }
    return all;
}

UniqueFd HttpConnection::release(std::string& arrived) {
    arrived = std::exchange(arrived_, {});
    return std::move(fd_);
}

}  // namespace sinew::launch::docker
