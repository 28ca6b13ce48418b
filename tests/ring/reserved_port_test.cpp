// SPDX-License-Identifier: Apache-2.0
#include "src/ring/reserved_port.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace sinew::ring {
namespace {

/// Whether another socket can listen on the port.
bool can_listen(std::uint16_t port, bool reuse) {
    UniqueFd const fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    int const yes = 1;
    if (reuse) ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(port);
    return ::bind(fd.get(), reinterpret_cast<sockaddr const*>(&at), sizeof at) == 0 &&
           ::listen(fd.get(), 1) == 0;
}

TEST(ReservedPort, IsKeptFromOthersUntilItIsReleased) {
    ReservedPort port;
    EXPECT_GT(port.number(), 0);
    EXPECT_FALSE(can_listen(port.number(), false));
    port.release();
    EXPECT_TRUE(can_listen(port.number(), false));
}

TEST(ReservedPort, IsGivenToWhoNamesItAndSharesAddresses) {
    ReservedPort const port;
    EXPECT_TRUE(can_listen(port.number(), true));
}

TEST(ReservedPort, IsAnotherEachTime) {
    ReservedPort const one, other;
    EXPECT_NE(one.number(), other.number());
}

}  // namespace
}  // namespace sinew::ring
