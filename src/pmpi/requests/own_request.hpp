// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "src/pmpi/mpi_waiter.hpp"
#include "src/pmpi/requests/call_queue.hpp"

namespace sinew::pmpi {

class PersistentRequest;

/// A request that this library has given to the program and that is not freed. Its handle is one of MPI,
/// so that all functions of MPI know it; but this library completes it, hence the functions that wait for
/// requests are interposed. Different requests may be used by different threads.
class OwnRequest {
public:
    OwnRequest(OwnRequest const&) = delete;
    OwnRequest& operator=(OwnRequest const&) = delete;

    /// Whether there are any: if not, waiting is MPI's matter alone.
    static bool any() { return count_.load(std::memory_order_acquire) > 0; }
    /// The one behind a handle; null if it is none of ours. Valid until the request is freed.
    static OwnRequest* find(MPI_Request request);

    /// Completes the request if its call has ended, or a rank is lost (see complete). Returns whether it is complete; one that is not started
    /// counts as complete.
    bool try_complete();
    /// Waits and completes it. If a rank is lost, the communicator's error handler is called, and the
    /// request completes with an error.
    void complete();
    /// The queue of a call that has not ended.
    CallQueue& queue() const { return queue_; }
    /// As complete(), after a failure of the queue while something else was waited for.
    void fail(std::exception const& error);
    /// This request if it is persistent; otherwise null.
    virtual PersistentRequest* persistent() { return nullptr; }

protected:
    explicit OwnRequest(CallQueue& queue) : queue_(queue) {}
    virtual ~OwnRequest() = default;
    /// Makes the request known by its handle, until leave().
    void enter(MPI_Request handle);
    void leave();
    /// Posts a call to the queue, which the request is now for. Throws as Queue::post; all calls of the
    /// queue have then failed.
    template <class Queue, class Call, class... More>
    void post(Queue& queue, std::shared_ptr<Call> call, More const&... more) {
        begin(call);
        try {
            queue.post(std::move(call), more...);
        } catch (...) {  // no memory, or no thread: nobody must wait for what is not in the queue
            abandon();
            throw;
        }
    }
    MPI_Request handle() const { return handle_; }
    bool is_complete() const { return complete_; }
    /// Whether the latest call has failed. Requires that it has ended.
    bool has_failed() const { return call_ && call_->failed; }

private:
    void begin(std::shared_ptr<PendingCollective> call);
    void abandon() noexcept;
    void finish();
    /// The request has become complete.
    virtual void on_complete() {}

    static inline std::atomic<int> count_{0};
    CallQueue& queue_;  // lives at least until the call has ended
    std::shared_ptr<PendingCollective> call_;
    MPI_Request handle_{};
    std::optional<MpiWaiter> waiter_;  // of tests that found the call pending
    bool complete_ = true;
};

}  // namespace sinew::pmpi
