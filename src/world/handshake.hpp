// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "src/base/system/unique_fd.hpp"
#include "src/wire/tls/secret.hpp"

namespace sinew {

/// Authenticates a connection between two ranks: each proves that it knows the key of the job's
/// data plane, which is never sent.
///
///     dialer     Hello: its rank, the wanted rank, size, epoch, a nonce
///     acceptor   another nonce, HMAC(key, "accept", Hello, nonce)
///     dialer     HMAC(key, "dial", Hello, nonce)
///     acceptor   one byte: 1: accepted; 0: refused, because it dials this peer itself
///
/// Neither side reads beyond these bytes; all later ones belong to the connection's user.
/// Connections are authenticated, not encrypted: an attacker on the network can change data.
class Handshake {
public:
    struct Self {
        wire::Secret key;
        std::uint32_t rank = 0, size = 0, epoch = 0;
    };
    enum class Result : std::uint8_t {
        more,     ///< call again when there is more to read
        proven,   ///< acceptor: call `verdict`; dialer: the connection is established
        yielded,  ///< dialer: refused, because the peer dials this rank
        broken,   ///< closed, or invalid data
        foreign,  ///< dialer: the acceptor does not know the key
    };

    /// Makes the acceptor's side. `fd` must not block.
    Handshake(Self const& self, UniqueFd fd);
    /// Makes the dialer's side; call `greet` when `fd` is connected.
    Handshake(Self const& self, UniqueFd fd, int peer);

    bool dials() const { return dials_; }
    bool greeted() const { return greeted_; }
    /// Sends the dialer's Hello. Returns false if the connection does not take it.
    bool greet();
    /// Reads and answers as much as possible without blocking.
    Result advance();
    /// Sends the acceptor's last byte. Returns false if the connection does not take it.
    bool verdict(bool yes);

    /// Returns the peer's rank; the acceptor knows it once the result is `proven`.
    int peer() const { return peer_; }
    std::chrono::steady_clock::time_point since() const { return since_; }
    int fd() const { return fd_.get(); }
    UniqueFd take() { return std::move(fd_); }

private:
    using Nonce = std::array<std::byte, 32>;
    struct Hello {
        std::uint64_t magic = 0;  ///< distinguishes versions and byte orders
        std::uint32_t from = 0, to = 0, size = 0, epoch = 0;
        Nonce nonce{};
    };
    enum class Awaits : std::uint8_t { hello, challenge, answer, verdict };

    Result proceed();
    bool hello_is_for_us() const;
    std::array<std::byte, 32> proof(char const* role) const;
    std::size_t expected() const;
    bool send(std::span<std::byte const> bytes);
    template <class Value>
    Value received(std::size_t offset = 0) const;

    Self const& self_;
    UniqueFd fd_;
    bool const dials_;
    bool greeted_ = false;
    int peer_ = -1;
    Awaits awaits_;
    Hello hello_;
    Nonce challenge_{};
    std::array<std::byte, 64> in_{};
    std::size_t have_ = 0;
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace sinew
