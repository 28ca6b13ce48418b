// SPDX-License-Identifier: Apache-2.0
#include "src/manager/managed/mutex.hpp"

#include <atomic>
#include <sinew/managed/condition.hpp>
#include <sinew/managed/lock.hpp>
#include <sinew/manager.hpp>
#include <utility>

#include "src/base/text.hpp"

namespace sinew::managed {

bool Mutex::holds(Holder const& who) const {
    return holder_ && holder_->process == who.process && holder_->thread == who.thread;
}

Deferred<bool> Mutex::lock(std::uint64_t thread) {
    if (try_lock(thread)) return true;
    Promise<bool> const promise;
    waiters_.push_back({promise, {this_call::caller(), thread}});
    return promise;
}

bool Mutex::try_lock(std::uint64_t thread) {
    Holder const who{this_call::caller(), thread};
    if (!holder_) {
        holder_ = who;
        return true;
    }
    if (!recursive_ || !holds(who)) return false;
    ++holder_->depth;
    return true;
}

// The holder of a non-recursive lock is its process, not a thread; unlock() does not even check
// that.
void Mutex::require_holder(Holder const& who, char const* wish) const {
    if (recursive_ ? holds(who) : holder_ && holder_->process == who.process) return;
    throw UsageError(text(wish, " a lock that ",
                          holder_ ? "another process or thread holds" : "is not locked",
                          " (only its holder may). Lock it first"));
}

void Mutex::unlock(std::uint64_t thread) {
    if (recursive_) require_holder({this_call::caller(), thread}, "unlocking");
    else if (!holder_)
        throw UsageError("unlocking a lock that is not locked. Unlock it once for each lock()");
    if (--holder_->depth > 0) return;
    holder_.reset();
    pass_on();
}

void Mutex::pass_on() {
    while (!holder_ && !waiters_.empty()) {
        auto const next = std::move(waiters_.front());
        waiters_.pop_front();
        if (next.promise.answer(next.says)) holder_ = next.self;
    }
}

Deferred<bool> Mutex::wait(std::uint64_t condition, std::uint64_t thread, std::uint64_t ticket) {
    Holder const who{this_call::caller(), thread};
    require_holder(who, "waiting for a condition with");
    Promise<bool> const promise;
    sleepers_[condition].push_back({{promise, {who.process, thread, holder_->depth}}, ticket});
    holder_.reset();
    pass_on();
    return promise;
}

void Mutex::wake(Sleeper& sleeper, bool says) {
    sleeper.waiter.says = says;
    waiters_.push_back(std::move(sleeper.waiter));
    pass_on();
}

void Mutex::notify(std::uint64_t condition, std::uint64_t most) {
    auto& asleep = sleepers_[condition];
    while (most > 0 && !asleep.empty()) {
        auto first = std::move(asleep.front());
        asleep.pop_front();
        if (!first.waiter.promise.waiting()) continue;
        --most;
        wake(first, true);
    }
}

void Mutex::give_up(std::uint64_t ticket) {
    auto const who = this_call::caller();
    for (auto& [condition, asleep] : sleepers_)
        for (auto each = asleep.begin(); each != asleep.end(); ++each) {
            if (each->ticket != ticket || each->waiter.self.process != who) continue;
            auto sleeper = std::move(*each);
            asleep.erase(each);
            return wake(sleeper, false);
        }
}

void Mutex::calls_withdrawn() {
    std::erase_if(waiters_, [](Waiter const& each) { return !each.promise.waiting(); });
    for (auto& [condition, asleep] : sleepers_)
        std::erase_if(asleep, [](Sleeper const& each) { return !each.waiter.promise.waiting(); });
}

void Mutex::caller_lost(Caller who) {
    if (!holder_ || holder_->process != who) return;
    holder_.reset();
    pass_on();
}

namespace {

std::uint64_t this_thread() {
    static std::atomic<std::uint64_t> threads{0};
    thread_local std::uint64_t const mine = ++threads;
    return mine;
}

}  // namespace

char const* AsyncLock::kept() { return typeid(Mutex).name(); }
Reply<bool> AsyncLock::lock() const { return object().async<&Mutex::lock>(this_thread()); }
Reply<bool> AsyncLock::try_lock() const { return object().async<&Mutex::try_lock>(this_thread()); }
Reply<void> AsyncLock::unlock() const { return object().async<&Mutex::unlock>(this_thread()); }

std::uint64_t AsyncCondition::next_ticket() {
    static std::atomic<std::uint64_t> tickets{0};
    return ++tickets;
}
Reply<bool> AsyncCondition::wait(std::uint64_t ticket) const {
    return lock_.object().async<&Mutex::wait>(number_, this_thread(), ticket);
}
void AsyncCondition::give_up(std::uint64_t ticket) const {
    lock_.object().oneway<&Mutex::give_up>(ticket);
}
Reply<void> AsyncCondition::notify(std::size_t most) const {
    return lock_.object().async<&Mutex::notify>(number_, std::uint64_t{most});
}
void AsyncCondition::encode_to(Writer& writer) const {
    lock_.encode_to(writer);
    encode(writer, number_);
}
AsyncCondition AsyncCondition::decode_from(Reader& reader) {
    auto lock = Lock::decode_from(reader);
    return {std::move(lock), decode<std::uint64_t>(reader)};
}

bool Condition::wait_for(std::chrono::nanoseconds limit) const {
    auto const ticket = AsyncCondition::next_ticket();
    auto const reply = condition_.wait(ticket);
    if (!reply.wait_for(limit)) condition_.give_up(ticket);
    return reply.get();
}

}  // namespace sinew::managed

namespace sinew {

managed::Lock Manager::lock() { return managed::Lock(create<managed::Mutex>(false)); }
managed::Lock Manager::recursive_lock() { return managed::Lock(create<managed::Mutex>(true)); }
managed::Condition Manager::condition() { return condition(recursive_lock()); }
managed::Condition Manager::condition(managed::Lock const& lock) {
    auto const number = lock.object().call<&managed::Mutex::add_condition>();
    return managed::Condition(managed::AsyncCondition(lock, number));
}

}  // namespace sinew
