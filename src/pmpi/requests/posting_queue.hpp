// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <span>

#include "src/pmpi/requests/call_queue.hpp"
#include "src/pmpi/requests/posted_collective.hpp"
#include "src/pmpi/requests/queue_helper.hpp"

namespace sinew::pmpi {

/// The short non-blocking collectives of one communicator that this rank has called and that have not
/// ended, in the order of the calls.
///
/// A call publishes this rank's message at once, or as soon as there is a place for it: its place may
/// hold an earlier message that another rank has not read. MPI lets no call wait for that, and the
/// other rank may be in a call that this library does not see, such as MPI_Recv. So a rank with many
/// calls that have not ended lets a thread look after them (QueueHelper): it publishes the messages
/// that have no place yet, and reads those of the others. Hence every rank that waits gets the
/// messages of all ranks that have made the call, whatever these do next.
///
/// Thread-safe, but for the calls of a communicator, which MPI does not allow at the same time.
class PostingQueue final : public CallQueue, public HelpedQueue {
public:
    /// Refers to the route, of which it is a part.
    explicit PostingQueue(CommRoute& route) : route_(route) {}
    /// Waits until all have ended, unless MPI_Finalize has been called.
    ~PostingQueue();

    /// Enters a call with the message of this rank, if it has one. Throws BackendError if there is no
    /// thread to look after too many calls.
    void post(std::shared_ptr<PostedCollective> call, std::span<std::byte const> message);
    /// Whether some have not ended.
    bool pending() const { return pending_.load(std::memory_order_acquire); }
    /// Waits until all calls have ended. Throws as await().
    void await_all();

    void progress() override;
    void await(PendingCollective const& call) override;
    void nobody_looks_after() override;
    int awaited_rank() override;
    void fail() noexcept override;
    CommRoute& route() const override { return route_; }

    Need look() override;

private:
    class Lock;

    // Of a thread that holds the lock:
    void move_on();
    bool enter(std::shared_ptr<PostedCollective> const& call, std::span<std::byte const> message);
    std::uint64_t finished() const;
    bool needs_help() const;

    template <class Ended>
    void await_until(Ended const& ended);

    CommRoute& route_;
    std::atomic<bool> locked_{false};
    std::atomic<bool> pending_{false};
    // Guarded by the lock.
    std::deque<std::shared_ptr<PostedCollective>> entered_;  ///< published, and not ended
    std::deque<std::shared_ptr<PostedCollective>> queued_;   ///< without a place; after entered_
    std::uint64_t published_finished_ = 0;
    bool helped_ = false, unattended_ = false;
};

}  // namespace sinew::pmpi
