// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "collectives/nccl/communicator.hpp"

namespace sinew::collectives::nccl {

using Clock = std::chrono::steady_clock;

/// A task in progress. `phase` is written by the owner thread, or by the one that ends the
/// communicator; all else belongs to the owner.
struct TaskState final : Work {
    explicit TaskState(Task given) : task(std::move(given)) {}
    Phase phase() const override { return now.load(std::memory_order_acquire); }

    Task task;
    std::atomic<Phase> now{Phase::queued};
    CudaDriver::Event begins = nullptr, ends = nullptr;
    Clock::time_point enqueued_at{}, begun_at{};
    std::chrono::nanoseconds forgiven{0};  ///< time for which the other ranks are excused
    bool has_begun = false;
    bool all_came = false;
    std::vector<std::pair<CudaDriver::Address, std::size_t>> scratch;
};

/// What the owner thread, the one that ends the communicator and the callers share. It lives until the
/// last of them has gone, also if one is stuck in NCCL.
struct Core : std::enable_shared_from_this<Core> {
    explicit Core(Communicator::Setup given) : setup(std::move(given)) {}

    /// The owner thread.
    void run();
    std::shared_ptr<Work const> submit(Task task);
    void lose(std::exception_ptr reason);
    bool await(bool Core::*flag, std::chrono::nanoseconds longest);
    /// Destroys events, memory and the stream. No other thread may use them any more.
    void release() noexcept;

    // --- for tasks, in the owner thread
    int average(int type);
    void* scratch(std::size_t bytes);

    Communicator::Setup setup;
    mutable std::mutex mutex;
    std::condition_variable changed;
    // Guarded by mutex:
    Communicator::State state = Communicator::State::connecting;
    Handle comm = nullptr;
    std::deque<std::shared_ptr<TaskState>> queued;
    std::vector<std::shared_ptr<TaskState>> running;  // changed by the owner only
    std::exception_ptr failure;
    bool closing = false;  // the destructor waits
    bool inside = false;   // the owner is inside a call of NCCL
    bool owner_ended = false;
    bool ended = false;           // after a failure: NCCL uses no buffer any more
    bool end_found_none = false;  // there was no communicator to end yet

private:
    friend class Calls;
    static constexpr std::chrono::nanoseconds shortest_pause = std::chrono::microseconds(20);
    static constexpr std::chrono::nanoseconds first_error_pause = std::chrono::milliseconds(1);

    bool enter();
    void leave();
    void start();
    bool settle(char const* during, Task const* task = nullptr);
    void work();
    void issue(TaskState& task);
    void poll_tasks();
    void poll_task(TaskState& task);
    void enforce_deadline(TaskState& task);
    void poll_errors();
    /// Throws what NCCL reports of a task: PeerLost if a rank's death is known, or becomes known soon.
    [[noreturn]] void fail(std::string const& what, std::string const& words, int error);
    void close();
    void end();
    void end_with_nccl(Handle handle, bool was_ready);
    CudaDriver::Event take_event();
    void give_back(TaskState& task);
    std::chrono::nanoseconds next_pause();

    /// Throws if the communicator is being ended: the owner must make no further call then.
    void stop_if_ending() const;

    Handle own = nullptr;  // comm, for the owner
    CudaDriver::Stream own_stream = nullptr;
    std::vector<CudaDriver::Event> idle_events;
    std::map<int, int> averages;  // by type
    std::vector<std::pair<CudaDriver::Address, std::size_t>> idle_scratch;
    TaskState* issuing = nullptr;
    std::chrono::nanoseconds pause = shortest_pause, error_pause = first_error_pause;
    Clock::time_point next_error_poll{}, next_trouble_poll{};
};

}  // namespace sinew::collectives::nccl
