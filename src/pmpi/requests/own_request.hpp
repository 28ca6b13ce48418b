// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "src/pmpi/requests/posted_collective.hpp"
#include "src/pmpi/requests/posting_queue.hpp"

namespace sinew::pmpi {

/// The requests that this library has given to the program and that are not freed: generalized requests
/// of MPI, so that all functions of MPI know them. MPI completes them when this library says so, hence
/// the functions that wait for requests are interposed. Thread-safe.
class OwnRequest {
public:
    /// Whether there are any: if not, waiting is MPI's matter alone.
    static bool any() { return count_.load(std::memory_order_acquire) > 0; }
    /// The one behind a handle; null if it is none of ours. Valid until MPI frees the request.
    static OwnRequest* find(MPI_Request request);

    /// Posts a call and sets `*request`. Returns the code of MPI if that has no request; the call has
    /// then not been posted. Throws as PostingQueue::post; all calls of the queue have then failed.
    static int post(PostingQueue& queue, std::shared_ptr<PostedCollective> call,
                    std::span<std::byte const> message, MPI_Request* request);

    /// Completes the request if its call has ended. Returns whether it is complete.
    bool try_complete();
    /// Waits and completes it. If a rank is lost, the communicator's error handler is called, and the
    /// request completes with an error.
    void complete();
    /// The queue of a call that has not ended.
    PostingQueue& queue() const { return queue_; }
    /// As complete(), after a failure of the queue while something else was waited for.
    void fail(std::exception const& error);

private:
    OwnRequest(PostingQueue& queue, std::shared_ptr<PostedCollective> call)
        : queue_(queue), call_(std::move(call)) {}
    static int on_query(void* own, MPI_Status* status);
    static int on_free(void* own);
    static int on_cancel(void* own, int complete);
    void finish();

    static inline std::atomic<int> count_{0};
    PostingQueue& queue_;  // lives at least until the call has ended
    std::shared_ptr<PostedCollective> const call_;
    MPI_Request handle_{};
    bool complete_ = false;
};

}  // namespace sinew::pmpi
