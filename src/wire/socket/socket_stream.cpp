// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "src/wire/socket/stream.hpp"

namespace sinew::wire {
namespace {

class SocketStream : public Stream {
public:
    explicit SocketStream(UniqueFd fd) : fd_(std::move(fd)) {}

    Moved read(std::span<std::byte> room) override {
        ssize_t const got = ::recv(fd_.get(), room.data(), room.size(), 0);
        if (got > 0) return {static_cast<std::size_t>(got), Moved::Status::ok};
        if (got == 0) return {0, Moved::Status::end};
        return stopped();
    }
    bool buffered() const override { return false; }
    Moved write(std::span<iovec const> blocks) override {
        if (blocks.empty()) return {};
        msghdr message{};
        message.msg_iov = const_cast<iovec*>(blocks.data());
        message.msg_iovlen = blocks.size();
        ssize_t const put = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
        if (put >= 0) return {static_cast<std::size_t>(put), Moved::Status::ok};
        return stopped();
    }
    std::size_t unsent() const override { return 0; }
    int fd() const override { return fd_.get(); }
    std::string const& problem() const override { return problem_; }

private:
    Moved stopped() {
        if (errno == EAGAIN || errno == EWOULDBLOCK) return {0, Moved::Status::again};
        if (errno == EINTR) return {0, Moved::Status::ok};
        problem_ = std::strerror(errno);
        return {0, Moved::Status::failed};
    }

    UniqueFd fd_;
    std::string problem_;
};

}  // namespace

std::unique_ptr<Stream> make_socket_stream(UniqueFd fd) {
    return std::make_unique<SocketStream>(std::move(fd));
}

}  // namespace sinew::wire
