// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>

#include <sinew/request.hpp>

namespace sinew {

namespace detail {
struct PersistentCall;
}

/// A collective call whose arguments stay the same, to be made many times (MPI's persistent
/// collectives): `Communicator::allreduce_init` and its siblings make one.
///
///   auto step = comm.allreduce_init(gradient, sinew::average);
///   for (...) {
///       compute(gradient);
///       step.start();
///       prepare_next();
///       step.wait();
///   }
///
/// The arguments are checked, and arrays of counts copied, when it is made. Each `start` begins the
/// call as the non-blocking form would; its place among the communicator's collectives is that of
/// `start`, and it meets blocking, non-blocking and persistent calls of other ranks alike. To make one
/// sends nothing and waits for no rank.
///
/// The buffers belong to the operation from `start` until `wait` has returned or `test` or `wait_for`
/// has returned true; they must exist as long as this object. Between two operations the caller may
/// change their contents.
///
/// The destructor waits for an operation in progress, as Request's does. The communicator may be
/// destroyed before. Move-only. Not thread-safe.
class PersistentRequest {
public:
    /// Makes an empty one, which counts as completed and cannot be started.
    PersistentRequest() = default;
    explicit PersistentRequest(std::shared_ptr<detail::PersistentCall> call)
        : call_(std::move(call)) {}
    PersistentRequest(PersistentRequest&&) noexcept = default;
    PersistentRequest& operator=(PersistentRequest&&) noexcept = default;
    ~PersistentRequest() = default;

    /// Begins the operation. Throws UsageError if the last one is in progress or this is empty, and
    /// the error that ended the communicator if it is lost.
    void start();
    /// Whether an operation has begun of which neither `wait` nor `test` nor `wait_for` has reported
    /// the end.
    bool active() const noexcept;

    /// Blocks until the operation has completed. Returns at once if none is in progress. Throws what
    /// Request::wait throws; so do `test` and `wait_for`.
    void wait();
    /// Makes progress as Request::test does; returns true if no operation is in progress any more.
    bool test();
    /// Makes progress; returns whether the operation has completed, which remains for `wait` to report.
    bool ready();
    /// Blocks for at most `limit`; returns true if no operation is in progress any more.
    bool wait_for(std::chrono::nanoseconds limit);

private:
    std::shared_ptr<detail::PersistentCall> call_;
    Request request_;  // of the operation in progress
};

}  // namespace sinew
