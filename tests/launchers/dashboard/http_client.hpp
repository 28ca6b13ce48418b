// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "src/base/system/unique_fd.hpp"
#include "src/wire/socket/sockets.hpp"

namespace sinew::testing_support {

/// One connection to a dashboard.
class HttpClient {
public:
    explicit HttpClient(std::uint16_t port, int receive_buffer = 0)
        : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        if (receive_buffer > 0)
            ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
        auto const address = wire::numeric_address(wire::Address::tcp("127.0.0.1", port));
        connected_ = ::connect(fd_.get(), address->get(), address->length) == 0;
    }
    bool connected() const { return connected_; }
    int fd() const { return fd_.get(); }
    bool send(std::string const& bytes) const {
        return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(bytes.size());
    }
    /// What comes until the server ends the connection, or `enough` says so.
    std::string receive(std::function<bool(std::string const&)> const& enough = {},
                        std::chrono::milliseconds limit = std::chrono::seconds(20)) {
        auto const until = std::chrono::steady_clock::now() + limit;
        while (!enough || !enough(got_)) {
            auto const left = std::chrono::ceil<std::chrono::milliseconds>(
                until - std::chrono::steady_clock::now());
            pollfd ready{.fd = fd_.get(), .events = POLLIN, .revents = 0};
            if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) != 1) {
                timed_out_ = true;
                break;
            }
            char buffer[65536];
            auto const count = ::recv(fd_.get(), buffer, sizeof buffer, 0);
            if (count <= 0) break;
            got_.append(buffer, static_cast<std::size_t>(count));
        }
        return got_;
    }
    bool timed_out() const { return timed_out_; }

private:
    UniqueFd fd_;
    bool connected_ = false, timed_out_ = false;
    std::string got_;
};

/// The parts of the address that is printed for a dashboard.
struct DashboardAddress {
    std::uint16_t port = 0;
    std::string token;

    /// From the first such address in a text; port 0: there is none.
    static DashboardAddress in(std::string const& text) {
        static std::string const beginning = "dashboard: http://127.0.0.1:", middle = "/#token=";
        auto const at = text.find(beginning);
        auto const token = text.find(middle, at);
        auto const end = text.find('\n', token);
        if (at == std::string::npos || end == std::string::npos) return {};
        return {static_cast<std::uint16_t>(std::stoi(text.substr(at + beginning.size()))),
                text.substr(token + middle.size(), end - token - middle.size())};
    }
    std::string request(std::string const& target) const {
        return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token +
               "\r\n\r\n";
    }
    /// The answer's body.
    std::string get(std::string const& target) const {
        HttpClient client(port);
        client.send(request(target));
        auto const answer = client.receive();
        auto const body = answer.find("\r\n\r\n");
        return body == std::string::npos ? std::string() : answer.substr(body + 4);
    }
};

}  // namespace sinew::testing_support
