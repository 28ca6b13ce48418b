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

/// How a read or write went; `bytes` were moved in any case.
struct Moved {
    enum class Status : std::uint8_t {
        ok,
        again,   ///< the kernel has nothing to read, or no room
        later,   ///< a handshake has to go on first: when something was read
        end,     ///< the other end has closed
        failed,  ///< the connection is gone
        denied,  ///< the two ends do not prove the same secret, or the bytes are no TLS
    };
    std::size_t bytes = 0;
    Status status = Status::ok;
};

/// Bytes both ways over one non-blocking socket. Nothing throws, nothing raises SIGPIPE.
class Stream {
public:
    virtual ~Stream() = default;
    /// Asks the kernel at most once.
    virtual Moved read(std::span<std::byte> room) = 0;
    /// More can be read without the kernel, and so without its saying so.
    virtual bool buffered() const = 0;
    virtual Moved write(std::span<iovec const> blocks) = 0;
    /// Taken by `write`, but not by the kernel yet. `write` of nothing goes on with it.
    virtual std::size_t unsent() const = 0;
    virtual int fd() const = 0;
    /// Why it failed or was denied.
    virtual std::string const& problem() const = 0;
};

/// Unprotected: for Unix sockets.
std::unique_ptr<Stream> make_socket_stream(UniqueFd fd);

}  // namespace sinew::wire
