// SPDX-License-Identifier: Apache-2.0
#include "src/process/pipe/fd.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace sinew::process {
namespace {

// A message of one byte with room for one descriptor.
struct Envelope {
    char byte = 0;
    iovec block{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
    msghdr header{};
    Envelope() {
        header.msg_iov = &block;
        header.msg_iovlen = 1;
        header.msg_control = control;
        header.msg_controllen = sizeof control;
    }
    Envelope(Envelope const&) = delete;
};

}  // namespace

bool send_fd(int socket, int fd) {
    Envelope envelope;
    auto* const control = CMSG_FIRSTHDR(&envelope.header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(control), &fd, sizeof fd);
    return ::sendmsg(socket, &envelope.header, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

UniqueFd receive_fd(int socket) {
    Envelope envelope;
    ssize_t count = 0;
    do count = ::recvmsg(socket, &envelope.header, MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
    auto* const control = CMSG_FIRSTHDR(&envelope.header);
    if (count != 1 || control == nullptr || control->cmsg_type != SCM_RIGHTS) return {};
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(control), sizeof fd);
    return UniqueFd(fd);
}

}  // namespace sinew::process
