// SPDX-License-Identifier: Apache-2.0
#include "tests/k8s/scripted_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "src/base/text.hpp"

namespace sinew::testing_support {
namespace {

std::string decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '%' && i + 2 < text.size()) {
            out += char(std::strtol(std::string(text.substr(i + 1, 2)).c_str(), nullptr, 16));
            i += 2;
        } else {
            out += text[i];
        }
    return out;
}

// Reads one question; false if the connection ends first.
bool read_question(int fd, std::string& buffer, HttpQuestion& question) {
    auto const more = [&] {
        std::array<char, 65536> bytes{};
        auto const count = ::recv(fd, bytes.data(), bytes.size(), 0);
        if (count > 0) buffer.append(bytes.data(), std::size_t(count));
        return count > 0;
    };
    std::size_t end = 0;
    while ((end = buffer.find("\r\n\r\n")) == buffer.npos)
        if (!more()) return false;
    question = {};
    auto head = std::string_view(buffer).substr(0, end + 2);
    auto const line = [&] {
        auto const stop = head.find("\r\n");
        auto const found = head.substr(0, stop);
        head.remove_prefix(stop + 2);
        return found;
    };
    auto const first = line();
    auto const space = first.find(' '), last = first.rfind(' ');
    question.method = first.substr(0, space);
    question.target = first.substr(space + 1, last - space - 1);
    while (!head.empty()) {
        auto const header = line();
        auto const colon = header.find(": ");
        if (colon == header.npos) continue;
        std::string name(header.substr(0, colon));
        for (char& c : name) c = char(std::tolower(static_cast<unsigned char>(c)));
        question.headers[name] = header.substr(colon + 2);
    }
    auto const mark = question.target.find('?');
    question.path = question.target.substr(0, mark);
    for (auto at = mark; at != std::string::npos;) {
        auto const next = question.target.find('&', at + 1);
        auto const pair = question.target.substr(at + 1, next - at - 1);
        auto const equals = pair.find('=');
        question.query[pair.substr(0, equals)] = decoded(pair.substr(equals + 1));
        at = next;
    }
    std::size_t const length =
        std::strtoul(question.headers["content-length"].c_str(), nullptr, 10);
    buffer.erase(0, end + 4);
    while (buffer.size() < length)
        if (!more()) return false;
    question.body = buffer.substr(0, length);
    buffer.erase(0, length);
    return true;
}

}  // namespace

bool HttpPeer::send(std::string_view bytes) const {
    while (!bytes.empty()) {
        auto const count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count <= 0) return false;
        bytes.remove_prefix(std::size_t(count));
    }
    return true;
}

bool HttpPeer::answer(int status, std::string_view body, std::string const& more_headers) const {
    return send(text("HTTP/1.1 ", status, " x\r\nContent-Type: application/json\r\n", more_headers,
                     "Content-Length: ", body.size(), "\r\n\r\n", body));
}

bool HttpPeer::begin(int status) const {
    return send(text("HTTP/1.1 ", status,
                     " x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"));
}

bool HttpPeer::chunk(std::string_view bytes) const {
    return send(text(std::hex, bytes.size(), "\r\n", bytes, "\r\n"));
}

bool HttpPeer::wait_closed(std::chrono::milliseconds most) const {
    pollfd wait{fd_, POLLRDHUP | POLLHUP | POLLERR, 0};
    return ::poll(&wait, 1, int(most.count())) > 0;
}

ScriptedServer::ScriptedServer(Script script)
    : script_(std::move(script)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        ::listen(listener_.get(), 64) != 0 ||
        ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
        throw std::system_error(errno, std::generic_category(), "listen");
    port_ = ntohs(address.sin_port);
    accepts_ = std::thread([this] { accept(); });
}

ScriptedServer::~ScriptedServer() {
    {
        std::lock_guard const lock(guard_);
        ending_ = true;
        ::shutdown(listener_.get(), SHUT_RDWR);
        for (int const fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    accepts_.join();
    for (auto& thread : threads_) thread.join();
}

std::string ScriptedServer::url() const { return text("http://127.0.0.1:", port_); }

void ScriptedServer::accept() {
    for (;;) {
        int const fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
        std::lock_guard const lock(guard_);
        if (fd < 0 || ending_) {
            if (fd >= 0) ::close(fd);
            return;
        }
        ++connections_;
        open_.push_back(fd);
        threads_.emplace_back([this, fd] { serve(fd); });
    }
}

void ScriptedServer::serve(int fd) {
    std::string buffer;
    HttpQuestion question;
    HttpPeer peer(fd);
    while (!peer.closed() && read_question(fd, buffer, question)) script_(question, peer);
    std::lock_guard const lock(guard_);
    std::erase(open_, fd);
    ::close(fd);
}

}  // namespace sinew::testing_support
