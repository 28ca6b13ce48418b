// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

namespace sinew {

namespace detail {
class RequestState;
}

/// The result of a receive: source rank, tag, and number of elements.
struct Received {
    int source = -1;
    int tag = 0;
    std::size_t count = 0;
};

/// A non-blocking operation in flight.
///
/// The buffers belong to the operation until `wait` has returned or `test` or `wait_for` has
/// returned true. wait, test and wait_for throw the operation's error once; afterwards the request
/// is empty. An empty request counts as completed.
///
/// The destructor waits, at most until the operation's deadline. After that the transfer is
/// cancelled and the failure is logged; if the operation is a receive without a message, it is
/// withdrawn and the communicator stays usable. To end a receive sooner, call `cancel`.
///
/// Move-only. Not thread-safe.
class Request {
public:
    Request() = default;
    explicit Request(std::shared_ptr<detail::RequestState> state) : state_(std::move(state)) {}
    Request(Request&&) noexcept = default;
    Request& operator=(Request&& other) noexcept;
    ~Request();

    /// Whether it refers to no operation.
    bool empty() const noexcept { return state_ == nullptr; }

    /// Blocks until the operation has completed. Returns the message's source, tag and count for
    /// receives.
    Received wait();
    /// Makes progress unless a thread of the library does; returns true if the operation has
    /// completed, and stores a receive's result in `received` unless it is null.
    bool test(Received* received = nullptr);
    /// Makes progress as `test` does; returns whether the operation has completed. Its result or
    /// error remains available to `wait`.
    bool ready();
    /// Blocks as `wait` does, for at most `limit`; returns as `test` does.
    bool wait_for(std::chrono::nanoseconds limit, Received* received = nullptr);

    /// Withdraws a receive that has not matched a message. Returns true if it was withdrawn: the
    /// buffer belongs to the caller again and the request is empty. Returns false, without any
    /// effect, for an empty request, a receive whose message has arrived or is arriving, a send,
    /// and a collective operation. Does not block.
    bool cancel();

private:
    void finish() noexcept;
    std::shared_ptr<detail::RequestState> state_;
};

}  // namespace sinew
