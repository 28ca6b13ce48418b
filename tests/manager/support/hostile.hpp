// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <sinew/manager.hpp>
#include <string>

#include "src/base/system/unique_fd.hpp"
#include "src/wire/socket/address.hpp"
#include "src/wire/socket/sockets.hpp"
#include "tests/manager/support/counter.hpp"
#include "tests/support/leak_check.hpp"

namespace sinew::testing_support {

/// A manager with a well-behaved client, which must not be affected.
class Hostile : public testing::TestWithParam<char const*> {
protected:
    Hostile()
        : manager({.listen = GetParam(), .guest_memory = guest_memory}),
          counter(manager.create<Counter>()) {
        counter.publish("counter");
    }
    ~Hostile() override {
        EXPECT_EQ(counter.async<&Counter::add>(1).get(std::chrono::seconds(30)), 1);
        EXPECT_EQ(Manager::connect(manager.address(), manager.authkey())
                      .lookup<Counter>("counter")
                      .async<&Counter::add>(1)
                      .get(std::chrono::seconds(30)),
                  2);
    }
    UniqueFd knock() const {
        auto const place = wire::Address::parse(manager.address());
        bool const local = place.family == wire::Address::Family::unix_socket;
        auto const where = local ? wire::unix_address(place.host) : *wire::numeric_address(place);
        UniqueFd socket(::socket(where.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
        EXPECT_EQ(::connect(socket.get(), where.get(), where.length), 0);
        return socket;
    }

    static constexpr std::size_t guest_memory = std::size_t{16} << 20;
    LeakCheck leaks;
    Manager manager;
    Object<Counter> counter;
};

inline void send_some(UniqueFd const& socket, std::string const& bytes) {
    (void)!::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Reads until the other end closes; returns whether it did, and how much it sent before.
inline bool is_closed(UniqueFd const& socket, std::size_t& said) {
    char buffer[4096];
    for (;;) {
        pollfd waiting{socket.get(), POLLIN, 0};
        if (::poll(&waiting, 1, 30'000) != 1) return false;
        auto const count = ::recv(socket.get(), buffer, sizeof buffer, 0);
        if (count <= 0) return true;
        said += static_cast<std::size_t>(count);
    }
}

inline auto const name_of_door = [](auto const& each) {
    return std::string(each.param)[0] == 'u' ? "Unix" : "Tcp";
};
}  // namespace sinew::testing_support
