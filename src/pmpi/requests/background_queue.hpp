// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>

#include "src/node_memory/arena/arena.hpp"
#include "src/pmpi/mpi_waiter.hpp"
#include "src/pmpi/requests/background_collective.hpp"
#include "src/pmpi/requests/call_queue.hpp"
#include "src/pmpi/requests/posted_collective.hpp"
#include "src/pmpi/requests/queue_helper.hpp"

namespace sinew::pmpi {

/// The longer non-blocking collectives of one communicator that this rank has called and that have not
/// ended. They are executed in the order of the calls, one at a time and in a room of their own, so that
/// they wait for none of the communicator's other calls, nor these for them.
///
/// A thread of the program that waits for a call executes it, and those before it; one that tests executes
/// a call of moderate length that all ranks have made. What the program has not begun to wait for a fraction of a
/// millisecond after all ranks have made the call, a thread of QueueHelper executes: so every such call
/// ends, whatever the program does next. Ranks tell each other by an empty posted message that they have
/// made a call.
class BackgroundQueue final : public CallQueue, public HelpedQueue {
public:
    /// Refers to the route, of which it is a part. The ranks agree on a room by a posted message, for which
    /// no rank waits here.
    explicit BackgroundQueue(CommRoute& route);
    /// With a room that nothing else uses.
    BackgroundQueue(CommRoute& route, std::unique_ptr<node_memory::Room> room);
    /// Waits until all have ended, unless MPI_Finalize has been called.
    ~BackgroundQueue();

    /// Enters a call. Throws BackendError if there is no thread to look after it.
    void post(std::shared_ptr<BackgroundCollective> call);
    /// Whether a thread executes a call.
    bool running();

    /// The program tests instead of waiting.
    void progress() override;
    void await(PendingCollective const& call) override;
    void nobody_looks_after() override {}
    int awaited_rank() override { return peer_.load(std::memory_order_relaxed); }
    void fail() noexcept override;
    CommRoute& route() const override { return route_; }

    Need look() override;
    void help() override;

private:
    class Executor;
    class RoomWaiter;

    bool execute_first(MpiWaiter& waiter);
    std::shared_ptr<BackgroundCollective> first(bool& running);
    void open_room(node_memory::Waiter& waiter);
    void await_ended(PendingCollective const& call, std::chrono::nanoseconds longest);

    CommRoute& route_;
    std::unique_ptr<node_memory::Room> room_;  // of whoever executes; null until it is open
    node_memory::RoomPlace place_;             // received by meeting_
    std::shared_ptr<PostedCollective> meeting_;
    std::atomic<int> peer_{0};
    std::mutex mutex_;
    std::condition_variable changed_;  // a call has ended
    // Guarded by mutex_.
    std::deque<std::shared_ptr<BackgroundCollective>> calls_;
    std::uint64_t first_ = 1;              // number of the first one
    std::uint64_t seen_ = 0, tested_ = 0;  // the first one at the last look(), progress()
    bool running_ = false, helped_ = false, lost_ = false;
    int looks_without_calls_ = 0;
};

}  // namespace sinew::pmpi
