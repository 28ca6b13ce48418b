// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/requests/posting_queue.hpp"

#include <thread>
#include <utility>

#include "src/pmpi/comm_route.hpp"
#include "src/pmpi/mpi_waiter.hpp"

namespace sinew::pmpi {

using node_memory::Room;
using Message = collectives::node::PostedMessage;

/// Held for less than a microsecond, except by a thread that was preempted.
class PostingQueue::Lock {
public:
    explicit Lock(PostingQueue& queue) : queue_(queue) {
        for (int i = 0; queue_.locked_.exchange(true, std::memory_order_acquire); ++i) {
            constexpr int before_yield = 64;
            if (i < before_yield) node_memory::relax();
            else std::this_thread::yield();
        }
    }
    ~Lock() { queue_.locked_.store(false, std::memory_order_release); }
    Lock(Lock const&) = delete;
    Lock& operator=(Lock const&) = delete;

private:
    PostingQueue& queue_;
};

PostingQueue::~PostingQueue() {
    try {
        if (MpiJob::current() != nullptr) await_all();
    } catch (std::exception const&) {  // the calls have failed
    }
    QueueHelper::forget(*this);
}

/// The last operation of the room that this rank has finished.
std::uint64_t PostingQueue::finished() const {
    return entered_.empty() ? route_.room->operation() : entered_.front()->message.operation() - 1;
}

/// Half of the places are full: others may soon wait for this rank.
bool PostingQueue::needs_help() const {
    if (unattended_ && !entered_.empty()) return true;
    if (!queued_.empty()) return true;
    if (entered_.size() >= Room::lines / 2) return true;
    std::size_t const bytes = entered_.empty() ? 0 : entered_.back()->plan.bytes;
    return bytes > Room::line_bytes && entered_.size() >= Room::slots_for(bytes) / 2;
}

void PostingQueue::post(std::shared_ptr<PostedCollective> call,
                        std::span<std::byte const> message) {
    bool asks = false;
    {
        Lock const lock(*this);
        if (pending_.load(std::memory_order_relaxed)) move_on();
        if (!queued_.empty() || !enter(call, message)) {
            call->queued.assign(message.begin(), message.end());
            queued_.push_back(std::move(call));
        }
        move_on();
        asks = needs_help() && !std::exchange(helped_, true);
    }
    if (asks) QueueHelper::help(*this);
}

void PostingQueue::nobody_looks_after() {
    bool asks = false;
    {
        Lock const lock(*this);
        unattended_ = true;
        asks = needs_help() && !std::exchange(helped_, true);
    }
    if (asks) QueueHelper::help(*this);
}

/// Publishes the message of a call. Returns false if there is no place.
bool PostingQueue::enter(std::shared_ptr<PostedCollective> const& call,
                         std::span<std::byte const> message) {
    Room& room = *route_.room;
    std::uint64_t const finished = this->finished();
    if (!Message::can_enter(room, call->plan, finished)) return false;
    bool const behind = !entered_.empty();
    constexpr std::uint16_t no_signature = 0;
    call->message.enter(room, call->plan, no_signature, behind);
    if (behind && published_finished_ != finished) {
        published_finished_ = finished;
        room.publish_finished(finished);
    }
    call->message.publish(room, message);
    entered_.push_back(call);
    return true;
}

void PostingQueue::move_on() {
    Room& room = *route_.room;
    for (bool again = true; again;) {
        again = false;
        while (!entered_.empty() && entered_.front()->message.look(room) == Room::Arrival::here) {
            PostedCollective& call = *entered_.front();
            call.collect(room);
            if (call.message.finish(room)) published_finished_ = call.message.operation();
            call.ended.store(true, std::memory_order_release);
            entered_.pop_front();
        }
        while (!queued_.empty() && enter(queued_.front(), queued_.front()->queued)) {
            queued_.front()->queued = {};
            queued_.pop_front();
            again = true;
        }
    }
    pending_.store(!entered_.empty() || !queued_.empty(), std::memory_order_release);
}

void PostingQueue::progress() {
    if (!pending()) return;
    Lock const lock(*this);
    move_on();
}

HelpedQueue::Need PostingQueue::look() {
    Lock const lock(*this);
    move_on();
    helped_ = needs_help();
    return helped_ ? Need::looks : Need::nothing;
}

int PostingQueue::awaited_rank() {
    Lock const lock(*this);
    return entered_.empty() ? 0 : entered_.front()->message.awaited(*route_.room);
}

void PostingQueue::fail() noexcept {
    route_.lost = true;
    Lock const lock(*this);
    for (auto* calls : {&entered_, &queued_}) {
        for (auto& call : *calls) {
            call->failed = true;
            call->ended.store(true, std::memory_order_release);
        }
        calls->clear();
    }
    pending_.store(false, std::memory_order_release);
}

template <class Ended>
void PostingQueue::await_until(Ended const& ended) {
    MpiWaiter waiter(route_);
    try {
        while (!ended())
            route_.room->await_word(waiter, awaited_rank(), [&] {
                progress();
                return ended();
            });
    } catch (...) {
        fail();
        throw;
    }
}

void PostingQueue::await(PendingCollective const& call) {
    await_until([&] { return call.ended.load(std::memory_order_acquire); });
}

void PostingQueue::await_all() {
    await_until([&] { return !pending(); });
}

}  // namespace sinew::pmpi
