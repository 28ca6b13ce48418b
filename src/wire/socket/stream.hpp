// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "src/base/system/unique_fd.hpp"

namespace sinew::wire {

/// The outcome of a read or write; `bytes` were moved in any case.
struct Moved {
    enum class Status : std::uint8_t {
        ok,
        again,   ///< the kernel has nothing to read, or no room
        later,   ///< a handshake must continue first, after a read
        end,     ///< the other end has closed
        failed,  ///< the connection is gone
        denied,  ///< the ends do not prove the same secret, or the bytes are not TLS
    };
    std::size_t bytes = 0;
    Status status = Status::ok;
};

/// Bytes in both directions over one non-blocking socket. Never throws or raises SIGPIPE.
class Stream {
public:
    virtual ~Stream() = default;
    /// Makes at most one system call.
    virtual Moved read(std::span<std::byte> room) = 0;
    /// More can be read without the kernel, which therefore does not announce it.
    virtual bool buffered() const = 0;
    virtual Moved write(std::span<iovec const> blocks) = 0;
    /// Bytes that `write` has taken, and the kernel has not. `write` of nothing continues with
    /// them.
    virtual std::size_t unsent() const = 0;
    virtual int fd() const = 0;
    /// Why it failed or was denied.
    virtual std::string const& problem() const = 0;
};

/// Unprotected: for Unix sockets.
std::unique_ptr<Stream> make_socket_stream(UniqueFd fd);

}  // namespace sinew::wire
