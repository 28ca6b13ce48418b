// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

namespace sinew {

namespace detail {
class Operation;
}

/// What a receive brought: the rank it came from, its tag, and how many elements.
struct Received {
    int source = -1;
    int tag = 0;
    std::size_t count = 0;
};

/// A non-blocking operation under way. Move-only; use it from one thread at a time.
///
/// The buffers of the operation belong to it until `wait` has returned or `test`/`wait_for` has
/// said true. The destructor therefore waits (bounded by the operation's deadline, after which the
/// transfer is cancelled and the failure logged; a receive that met no message is taken back then, and
/// the communicator stays usable). `cancel` is how to let go of a receive sooner. Errors are thrown by wait, test and wait_for,
/// once; afterwards the request is empty. An empty request is done.
class Request {
public:
    Request() = default;
    explicit Request(std::shared_ptr<detail::Operation> operation)
        : operation_(std::move(operation)) {}
    Request(Request&&) noexcept = default;
    Request& operator=(Request&& other) noexcept;
    ~Request();

    /// Blocks until the operation has ended. For receives says what came.
    Received wait();
    /// Makes progress where no thread of the library does; true when the operation has ended.
    bool test();
    /// Makes progress where no thread of the library does; whether the operation has ended. Its result,
    /// or error, is still to be had by `wait`.
    bool ready();
    /// As `wait`, at most this long; true when the operation has ended.
    bool wait_for(std::chrono::nanoseconds limit);

    /// Takes back a receive that no message has met: true, and the buffer is the caller's again; the
    /// request is then empty. False for all others, which go on as if nothing had been asked: an empty
    /// request, a receive whose message is here or arriving, a send, a collective. Does not block.
    bool cancel();

private:
    void finish() noexcept;
    std::shared_ptr<detail::Operation> operation_;
};

}  // namespace sinew
