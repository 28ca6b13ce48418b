// SPDX-License-Identifier: Apache-2.0
#include "src/comm/memory/posted_calls.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

#include "collectives/node/posted_message.hpp"
#include "src/base/text.hpp"
#include "src/comm/collective/signature.hpp"
#include "src/comm/memory/memory_waiter.hpp"

namespace sinew::detail {

using collectives::node::PostedMessage;
using node_memory::Room;
using Arrival = Room::Arrival;

namespace {

PostedMessage::Plan plan_of(ShortCall const& call) {
    if (call.record.collective != Collective::broadcast)
        return {.bytes = call.bytes, .reads_own = false};
    return {.bytes = call.bytes,
            .pattern = PostedMessage::Pattern::from_root,
            .root = call.record.root};
}

}  // namespace

/// Held for less than a microsecond, except by a thread that was preempted.
class CommunicatorState::PostedCalls::Lock {
public:
    explicit Lock(PostedCalls& calls) : calls_(calls) {
        for (int i = 0; calls_.locked_.exchange(true, std::memory_order_acquire); ++i) {
            constexpr int before_yield = 64;
            if (i < before_yield) node_memory::relax();
            else std::this_thread::yield();
        }
    }
    ~Lock() { calls_.locked_.store(false, std::memory_order_release); }
    Lock(Lock const&) = delete;
    Lock& operator=(Lock const&) = delete;

private:
    PostedCalls& calls_;
};

/// One call and its request.
class CommunicatorState::PostedCalls::Posted final : public RequestState {
public:
    bool poll() override;
    bool wait(std::optional<Clock::time_point> until) override;
    Received take_result() override;

    bool ended() const { return ended_.load(std::memory_order_acquire); }

private:
    friend class PostedCalls;

    /// Waits for this call.
    class CallWaiter final : public MemoryWaiter {
    public:
        CallWaiter(Posted& call, std::optional<Clock::time_point> until)
            : MemoryWaiter(call.calls_->state_), call_(call), until_(until) {}
        std::chrono::nanoseconds idle(int round, int peer) override {
            call_.calls_->progress();  // finds, too, that the peer makes another call
            auto const longest = MemoryWaiter::idle(round, peer);
            if (!until_) return longest;
            auto const now = Clock::now();
            expired_ = now >= *until_;
            return expired_ ? std::chrono::nanoseconds{}
                            : std::min<std::chrono::nanoseconds>(longest, *until_ - now);
        }
        bool expired() const { return expired_; }

    protected:
        std::string text_of_call() const override { return call_.calls_->text_of(call_.sequence_); }
        void note_wait() override {
            Lock const lock(*call_.calls_);
            // After the last posted call has ended, the engine may enter its next operation.
            if (!call_.ended()) MemoryWaiter::note_wait();
        }

    private:
        Posted& call_;
        std::optional<Clock::time_point> until_;
        bool expired_ = false;
    };

    PostedCalls* calls_ = nullptr;
    ShortCall call_;
    PostedMessage message_;
    std::uint64_t sequence_ = 0;
    int polls_ = 0;
    bool failed_ = false;
    std::atomic<bool> ended_{true};
    std::atomic<bool> taken_{true};  // the request no longer refers to it
    std::unique_ptr<CallWaiter> polling_;
};

CommunicatorState::PostedCalls::PostedCalls(CommunicatorState& state)
    : state_(state), room_(*state.room_), calls_(new Posted[capacity]) {
    for (std::size_t i = 0; i < capacity; ++i) calls_[i].calls_ = this;
}

CommunicatorState::PostedCalls::~PostedCalls() = default;

RequestState* CommunicatorState::PostedCalls::post(ShortCall const& call) {
    if (!none()) progress();
    Lock const lock(*this);
    Posted& posted = calls_[end_ % capacity];
    bool const behind = begin_ != end_;
    std::uint64_t const finished =
        behind ? calls_[begin_ % capacity].message_.operation() - 1 : room_.operation();
    auto const plan = plan_of(call);
    if (end_ - begin_ == capacity || !posted.taken_.load(std::memory_order_acquire) ||
        !PostedMessage::can_enter(room_, plan, finished))
        return nullptr;

    posted.call_ = call;
    posted.sequence_ = state_.log_.enter(call.record);
    if (posted.sequence_ % OperationLog::calls_per_clock == 0) state_.log_.note_wait();
    posted.polls_ = 0;
    posted.failed_ = false;
    posted.ended_.store(false, std::memory_order_relaxed);
    posted.taken_.store(false, std::memory_order_relaxed);
    auto const signature = signature_of(call.record.collective, std::max(plan.root, 0), call.bytes);
    posted.message_.enter(room_, plan, signature, behind);
    if (behind && published_finished_ != finished) {
        published_finished_ = finished;
        room_.publish_finished(finished);
    }
    posted.message_.publish(room_, {call.in, call.bytes});
    ++end_;
    posted_.store(static_cast<std::uint32_t>(end_ - begin_), std::memory_order_release);
    return &posted;
}

/// Takes the messages of all ranks.
void CommunicatorState::PostedCalls::end(Posted& posted) {
    ShortCall const& call = posted.call_;
    PostedMessage const& message = posted.message_;
    if (call.kernel != nullptr) {
        std::array<void const*, collectives::max_fused_inputs> inputs;
        for (int r = 0; r < room_.size(); ++r)
            inputs[static_cast<std::size_t>(r)] = message.of(room_, r);
        inputs[static_cast<std::size_t>(room_.rank())] = call.in;
        call.kernel(call.out, inputs.data(), room_.size(), call.record.count);
    } else if (call.record.collective == Collective::broadcast &&
               call.record.root != room_.rank()) {
        std::memcpy(call.out, message.of(room_, call.record.root), call.bytes);
    }
    if (message.finish(room_)) published_finished_ = message.operation();
}

/// Removes the first call.
void CommunicatorState::PostedCalls::pop(Posted& call, bool failed) noexcept {
    ++begin_;
    if (begin_ == end_) state_.log_.leave();
    else state_.log_.record(call.sequence_);
    call.failed_ = failed;
    posted_.store(static_cast<std::uint32_t>(end_ - begin_), std::memory_order_release);
    call.ended_.store(true, std::memory_order_release);
}

void CommunicatorState::PostedCalls::progress() {
    int peer = -1;
    std::uint64_t sequence = 0;
    {
        Lock const lock(*this);
        while (begin_ != end_) {
            Posted& first = calls_[begin_ % capacity];
            Arrival const found = first.message_.look(room_);
            if (found == Arrival::of_another_call) {
                peer = first.message_.awaited(room_);
                sequence = first.sequence_;
            }
            if (found != Arrival::here) break;
            end(first);
            pop(first, false);
        }
    }
    if (peer >= 0) refuse(peer, sequence);
    if (state_.lost()) fail();
}

/// A rank makes another call where this one posted #sequence.
void CommunicatorState::PostedCalls::refuse(int peer, std::uint64_t sequence) noexcept {
    struct Refusing final : MemoryWaiter {
        Refusing(PostedCalls& calls_, std::uint64_t sequence_)
            : MemoryWaiter(calls_.state_), calls(calls_), number(sequence_) {}
        void note_wait() override {}
        std::string text_of_call() const override { return calls.text_of(number); }
        PostedCalls& calls;
        std::uint64_t number;
    };
    try {
        Refusing(*this, sequence).refuse(peer);
    } catch (std::exception const&) {
        // The communicator remembers it.
    }
}

void CommunicatorState::PostedCalls::fail() noexcept {
    Lock const lock(*this);
    while (begin_ != end_) pop(calls_[begin_ % capacity], true);
}

int CommunicatorState::PostedCalls::awaited_rank() {
    Lock const lock(*this);
    if (begin_ == end_) return -1;
    return calls_[begin_ % capacity].message_.awaited(room_);
}

void CommunicatorState::PostedCalls::await_all(node_memory::Waiter& waiter) {
    for (;;) {
        progress();
        std::uint32_t const left = posted_.load(std::memory_order_acquire);
        if (left == 0) return;
        room_.await_word(waiter, awaited_rank(), [&] {
            progress();
            return posted_.load(std::memory_order_acquire) != left;
        });
    }
}

std::string CommunicatorState::PostedCalls::text_of(std::uint64_t sequence) const {
    auto const record = state_.log_.at(sequence);
    return sinew::text(record ? record->text() : "", " #", sequence);
}

std::string CommunicatorState::PostedCalls::text() {
    std::uint64_t sequence = 0;
    {
        Lock const lock(*this);
        sequence = begin_ == end_ ? state_.log_.entered() : calls_[begin_ % capacity].sequence_;
    }
    return text_of(sequence);
}

bool CommunicatorState::PostedCalls::Posted::poll() {
    if (ended()) return true;
    calls_->progress();
    if (ended()) return true;
    if (!polling_) polling_ = std::make_unique<CallWaiter>(*this, std::nullopt);
    try {
        polling_->look(polls_++, calls_->awaited_rank());
    } catch (Error const&) {
        calls_->fail();  // take_result throws it
    }
    return ended();
}

bool CommunicatorState::PostedCalls::Posted::wait(std::optional<Clock::time_point> until) {
    CallWaiter waiter(*this, until);
    try {
        while (!ended()) {
            Room const& room = calls_->room_;
            for (int rank = 0; rank < room.size(); ++rank)
                if (message_.needs(room, rank))
                    room.await_word(waiter, rank, [&] {
                        return ended() || waiter.expired() ||
                               message_.arrival_from(room, rank) != Arrival::missing;
                    });
            calls_->progress();
            if (!ended() && waiter.expired()) return false;
        }
    } catch (Error const&) {
        calls_->fail();  // take_result throws it
    }
    return true;
}

Received CommunicatorState::PostedCalls::Posted::take_result() {
    bool const failed = failed_;
    PostedCalls& calls = *calls_;
    polling_ = nullptr;
    taken_.store(true, std::memory_order_release);
    if (failed) calls.state_.throw_if_lost();
    return {};
}

}  // namespace sinew::detail
