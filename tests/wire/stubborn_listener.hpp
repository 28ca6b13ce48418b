// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>

#include "src/wire/link.hpp"
#include "src/wire/socket/sockets.hpp"
#include "tests/wire/support.hpp"

namespace sinew::wire::test {

/// A listener, and connections that do not become links.
struct Door {
    explicit Door(Address::Family family, Listener::Options const& options = {})
        : listener(std::make_unique<Listener>(
              loop, address_of(family, folder), Credentials{secret, {0, 0, 0, "root"}}, options,
              [this](std::unique_ptr<Link> taken) { end.take(std::move(taken)); })) {}

    /// A plain connection.
    UniqueFd knock() const {
        auto const& address = listener->address();
        auto const where = address.family == Address::Family::unix_socket
                               ? unix_address(address.host)
                               : *numeric_address(address);
        UniqueFd fd(::socket(where.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
        EXPECT_EQ(::connect(fd.get(), where.get(), where.length), 0);
        return fd;
    }
    /// The error of dialling with this secret; empty if it succeeds.
    std::string dial_with(Secret const& key, Clock::duration patience = std::chrono::seconds(30)) {
        std::unique_ptr<Dialled> result;
        auto const handle =
            dial(loop, listener->address(), {key, {1, 0, 0, "peer"}}, {}, patience,
                 [&](Dialled outcome) { result = std::make_unique<Dialled>(std::move(outcome)); });
        if (!run_until(loop, [&] { return result != nullptr; })) return "nothing came of it";
        if (result->link) link = std::move(result->link);
        return result->error;
    }

    PrivateFolder folder;
    Loop loop;
    Secret secret = Secret::random();
    End end;
    std::unique_ptr<Listener> listener;
    std::unique_ptr<Link> link;
};

}  // namespace sinew::wire::test
