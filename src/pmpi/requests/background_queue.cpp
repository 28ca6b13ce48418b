// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/requests/background_queue.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include <sinew/error.hpp>

#include "src/pmpi/comm_route.hpp"
#include "src/pmpi/requests/posting_queue.hpp"

namespace sinew::pmpi {

using node_memory::RoomPlace;

/// Notes for which rank the thread that executes a call waits.
class BackgroundQueue::RoomWaiter final : public node_memory::Waiter {
public:
    RoomWaiter(MpiWaiter& waiter, std::atomic<int>& peer) : waiter_(waiter), peer_(peer) {}
    int spins() const override { return waiter_.spins(); }
    int yields() const override { return waiter_.yields(); }
    std::chrono::nanoseconds idle(int round, int peer) override {
        peer_.store(peer, std::memory_order_relaxed);
        return waiter_.idle(round, peer);
    }

private:
    MpiWaiter& waiter_;
    std::atomic<int>& peer_;
};

/// While it exists no other thread executes calls.
class BackgroundQueue::Executor {
public:
    explicit Executor(BackgroundQueue& queue) : queue_(queue) {}  // which has been marked
    Executor(Executor const&) = delete;
    Executor& operator=(Executor const&) = delete;
    ~Executor() {
        std::lock_guard const lock(queue_.mutex_);
        queue_.running_ = false;
        queue_.changed_.notify_all();
    }

private:
    BackgroundQueue& queue_;
};

BackgroundQueue::BackgroundQueue(CommRoute& route, std::unique_ptr<node_memory::Room> room)
    : route_(route), room_(std::move(room)) {}

BackgroundQueue::BackgroundQueue(CommRoute& route) : route_(route) {
    constexpr int first = 0;
    if (route.rank == first) place_ = route.job->arena()->make_room(route.size);
    meeting_ = std::make_shared<PostedCollective>(MpiFunction::ibcast, MPI_COMM_NULL);
    meeting_->plan = {.bytes = sizeof place_,
                      .pattern = collectives::node::PostedMessage::Pattern::from_root,
                      .root = first};
    auto* const bytes = reinterpret_cast<std::byte*>(&place_);
    if (route.rank != first) meeting_->pieces.push_back({first, 0, sizeof place_, bytes});
    route.posted->post(meeting_, route.rank == first
                                     ? std::span<std::byte const>(bytes, sizeof place_)
                                     : std::span<std::byte const>{});
}

BackgroundQueue::~BackgroundQueue() {
    try {
        while (MpiJob::current() != nullptr) {
            std::shared_ptr<BackgroundCollective> last;
            {
                std::lock_guard const lock(mutex_);
                if (calls_.empty()) break;
                last = calls_.back();
            }
            await(*last);
        }
    } catch (std::exception const&) {  // the calls have failed
    }
    QueueHelper::forget(*this);
}

void BackgroundQueue::post(std::shared_ptr<BackgroundCollective> call) {
    route_.posted->post(call->arrival, {});
    bool asks = false;
    {
        std::lock_guard const lock(mutex_);
        calls_.push_back(std::move(call));
        asks = !std::exchange(helped_, true);
    }
    if (asks) QueueHelper::help(*this);
}

bool BackgroundQueue::running() {
    std::lock_guard const lock(mutex_);
    return running_;
}

/// Executes the first call. Returns false if there is none, or another thread executes it.
bool BackgroundQueue::execute_first(MpiWaiter& waiter) {
    std::shared_ptr<BackgroundCollective> call;
    {
        std::lock_guard const lock(mutex_);
        if (running_ || calls_.empty()) return false;
        running_ = true;
        call = calls_.front();
    }
    Executor const executor(*this);
    RoomWaiter noting(waiter, peer_);
    if (room_ == nullptr) open_room(noting);
    call->execute(*room_, noting);
    route_.posted->progress();  // where the others' arrivals take places
    std::lock_guard const lock(mutex_);
    if (lost_) return true;
    calls_.pop_front();
    ++first_;
    call->ended.store(true, std::memory_order_release);
    return true;
}

/// Waits until the first rank has said where the room is.
void BackgroundQueue::open_room(node_memory::Waiter& waiter) {
    PostingQueue& posted = *route_.posted;
    route_.room->await_word(waiter, 0, [&] {
        posted.progress();
        return meeting_->ended.load(std::memory_order_acquire);
    });
    route_.require_not_lost();
    if (place_.offset == 0)
        throw BackendError(
            "no shared memory is left for non-blocking collectives of more than 8 KiB. "
            "SINEW_MPI_OFF=1 lets MPI execute all collectives",
            0);
    room_ = route_.job->arena()->open_room(place_, route_.rank, route_.size);
    room_->use_domains(route_.job->domains_of(route_.local_ranks).domains);
    room_->share_processors(route_.job->crowded());
}

/// The first call, or null; and whether a thread executes it.
std::shared_ptr<BackgroundCollective> BackgroundQueue::first(bool& running) {
    std::lock_guard const lock(mutex_);
    running = running_;
    return calls_.empty() ? nullptr : calls_.front();
}

void BackgroundQueue::progress() {
    constexpr std::size_t moderate_bytes = std::size_t{256} << 10;
    bool running = false;
    auto const call = first(running);
    if (call == nullptr) return;
    route_.posted->progress();
    bool const all_arrived = call->arrival->ended.load(std::memory_order_acquire);
    if (!running && all_arrived && call->bytes(route_.size) <= moderate_bytes) {
        MpiWaiter waiter(route_);
        execute_first(waiter);
        return;
    }
    bool begins = false;
    if (!running && all_arrived) {
        std::lock_guard const lock(mutex_);
        begins = std::exchange(tested_, first_) != first_;
        if (begins) seen_ = first_;
    }
    if (begins) QueueHelper::look_now();
    if (all_arrived)
        std::this_thread::yield();  // the thread that executes it may need this processor
}

void BackgroundQueue::await(PendingCollective const& call) {
    MpiWaiter waiter(route_);
    try {
        for (int round = 0; !call.ended.load(std::memory_order_acquire);) {
            if (execute_first(waiter)) continue;
            auto const pause = waiter.idle(round++, awaited_rank());
            // Another thread executes it, which may need this processor. Or other ranks are awaited, whose arrival wakes nobody here: at
            // first this one looks often, however long a rank may sleep that is woken.
            constexpr std::chrono::nanoseconds least = std::chrono::microseconds(50);
            await_ended(call, std::clamp(pause, least, least * (1 + round / 8)));
        }
    } catch (...) {
        fail();
        throw;
    }
}

void BackgroundQueue::await_ended(PendingCollective const& call, std::chrono::nanoseconds longest) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, longest, [&] {
        return call.ended.load(std::memory_order_relaxed) || (!running_ && !calls_.empty());
    });
}

void BackgroundQueue::fail() noexcept {
    route_.lost = true;
    std::lock_guard const lock(mutex_);
    lost_ = true;
    for (auto const& call : calls_) {
        call->failed = true;
        call->ended.store(true, std::memory_order_release);
    }
    calls_.clear();
    changed_.notify_all();
}

/// A call that all had made and that was the first one at the last look, too, needs a thread: the program
/// does something else.
HelpedQueue::Need BackgroundQueue::look() {
    constexpr int looks_until_rest = 50;
    bool running = false;
    auto const call = first(running);
    if (call) route_.posted->progress();
    bool const all_arrived = call && call->arrival->ended.load(std::memory_order_acquire);
    std::lock_guard const lock(mutex_);
    if (call == nullptr && calls_.empty()) {
        seen_ = 0;
        helped_ = ++looks_without_calls_ < looks_until_rest;
        return helped_ ? Need::looks : Need::nothing;
    }
    looks_without_calls_ = 0;
    bool const seen = std::exchange(seen_, all_arrived ? first_ : 0) == first_;
    return !running_ && all_arrived && seen ? Need::thread : Need::looks;
}

void BackgroundQueue::help() {
    MpiWaiter waiter(route_, MpiWaiter::Thread::of_library);
    while (execute_first(waiter)) {}
}

}  // namespace sinew::pmpi
