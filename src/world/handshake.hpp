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

/// How two ranks prove to each other that they belong together: both know the key of the job's data
/// plane, which never travels.
///
///     dialler    Hello: who I am, whom I want, epoch, a nonce
///     acceptor   a nonce of its own, HMAC(key, "accept", Hello, nonce)
///     dialler    HMAC(key, "dial", Hello, nonce)
///     acceptor   one byte: yes; or no: I am dialling you already
///
/// Each side reads not a byte more than that, so what follows is the connection's. Connections are
/// authenticated, not encrypted: whoever can change packets between the hosts can change data.
class Handshake {
public:
    struct Self {
        wire::Secret key;
        std::uint32_t rank = 0, size = 0, epoch = 0;
    };
    enum class Result : std::uint8_t {
        more,     ///< call again when there is more to read
        proven,   ///< acceptor: give the verdict; dialler: the connection is there
        yielded,  ///< dialler: the peer dials
        broken,   ///< closed, or garbage
        foreign,  ///< dialler: the other side does not know the key
    };

    /// Of the acceptor. `fd` must not block.
    Handshake(Self const& self, UniqueFd fd);
    /// Of the dialler; `greet` when connected.
    Handshake(Self const& self, UniqueFd fd, int peer);

    bool dials() const { return dials_; }
    bool greeted() const { return greeted_; }
    /// False when the connection does not take it.
    bool greet();
    Result advance();
    bool verdict(bool yes);

    /// The acceptor knows it when the result is `proven`.
    int peer() const { return peer_; }
    std::chrono::steady_clock::time_point since() const { return since_; }
    int fd() const { return fd_.get(); }
    UniqueFd take() { return std::move(fd_); }

private:
    using Nonce = std::array<std::byte, 32>;
    struct Hello {
        std::uint64_t magic = 0;  ///< tells versions and orders of bytes apart
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
