// SPDX-License-Identifier: Apache-2.0
#include "src/process/loop_leader.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "src/base/scope_exit.hpp"
#include "src/base/waiting/wake_up.hpp"

namespace sinew::process {
namespace {

// How long the background thread leaves the lead vacant, in costs of a wake-up: a thread that
// drives again within that time need not wake it. `least_vacancy` is the lower bound, since each
// check whether the time has passed costs a wake-up, too.
constexpr int vacancy_in_wake_ups = 5;
constexpr auto least_vacancy = std::chrono::microseconds(100);

// After this many drivers in a row that took the lead within that time, it checks at intervals of
// `seldom`: each check takes a processor and the guard from threads that call repeatedly.
constexpr int soon_enough = 16;
constexpr auto seldom = std::chrono::milliseconds(1);
// After this many checks in a row with the same driver, it sleeps until it is called.
constexpr int looks_before_it_sleeps = 20;

thread_local bool drives = false;

}  // namespace

bool LoopLeader::driving() { return drives; }

LoopLeader::LoopLeader(wire::Loop& loop, std::function<void(std::exception const&)> log)
    : loop_(loop), log_(std::move(log)) {}

SpinPolicy& LoopLeader::policy(Turn turn) {
    auto& found = policies_[static_cast<std::size_t>(turn)];
    if (!found) found = make_spin_policy();
    return *found;
}

LoopLeader::Clock::duration LoopLeader::vacancy() const {
    if (turns_given_up_ == 0) return {};  // no thread has driven yet
    return std::max<Clock::duration>(least_vacancy, vacancy_in_wake_ups * wake_up().cost);
}

bool LoopLeader::wait(Lock& lock, std::condition_variable& changed, Clock::time_point deadline,
                      std::function<bool()> const& ready, Turn turn) {
    auto const late = [deadline] {
        return deadline != Clock::time_point::max() && Clock::now() >= deadline;
    };
    bool const patient = turn == Turn::some_time;
    auto const gives_way = [&] { return background_is_wanted() || (patient && !next_.empty()); };
    std::function<bool()> const over = [&] { return ready() || (patient && gives_way()); };
    // Makes one attempt in any case: an event that has arrived counts even after the deadline.
    for (bool first = true; !ready() && (first || !late()); first = false) {
        if (driver_ == Driver::none && !gives_way()) {
            auto& looks = policy(turn);
            awaited_ = &changed;
            drive(lock, Driver::waiter, [&] { return loop_.drive(over, deadline, looks); });
            awaited_ = nullptr;
        } else {
            pass_on();
            follow(lock, changed, deadline, turn);
        }
    }
    pass_on();
    return ready();
}

void LoopLeader::yield_soon() {
    if (driver_ == Driver::background) background_leaves_ = true;
}

void LoopLeader::poll_once(Lock& lock) {
    if (driver_ != Driver::none || background_is_wanted()) return;
    drive(lock, Driver::waiter, [this] { return loop_.poll_once(); });
    pass_on();
}

template <class Drive>
void LoopLeader::drive(Lock& lock, Driver who, Drive const& drive) {
    bool const soon = who == Driver::waiter && Clock::now() - vacant_since_ < vacancy();
    soon_in_a_row_ = soon ? std::min(soon_in_a_row_ + 1, soon_enough) : 0;
    driver_ = who;
    lock.unlock();
    drives = true;
    bool stopped = false;
    try {
        stopped = !drive();
    } catch (std::exception const& error) {
        log_(error);
    }
    drives = false;
    lock.lock();
    driver_ = Driver::none;
    if (stopped) stopped_ = true;
    ++turns_given_up_;
    vacant_since_ = Clock::now();
}

void LoopLeader::follow(Lock& lock, std::condition_variable& changed, Clock::time_point deadline,
                        Turn turn) {
    auto const place = turn == Turn::at_once ? next_.insert(next_.end(), &changed) : next_.end();
    ++followers_;
    if (deadline == Clock::time_point::max()) changed.wait(lock);
    else changed.wait_until(lock, deadline);
    --followers_;
    if (turn == Turn::at_once) next_.erase(place);
}

// Called by a thread that stops driving, or needs another thread to drive: wakes the next driver,
// so that no thread waits long for events while the lead is vacant.
void LoopLeader::pass_on() {
    if (driver_ != Driver::none) return;
    if (!background_is_wanted() && !next_.empty()) return next_.front()->notify_all();
    if (background_is_wanted() || background_sleeps_) {
        background_sleeps_ = false;
        background_called_.notify_one();
    }
}

void LoopLeader::notified(std::condition_variable& changed) {
    if (followers_ > 0) background_leaves_ = true;
    // The driver evaluates its condition only between events: the posted callback is such an event.
    if (driver_ == Driver::waiter && awaited_ == &changed && !drives) loop_.post([] {});
}

void LoopLeader::notify_one(std::condition_variable& changed) {
    notified(changed);
    if (driver_ != Driver::waiter || awaited_ != &changed) changed.notify_one();
}

void LoopLeader::notify_all(std::condition_variable& changed) {
    notified(changed);
    changed.notify_all();
    if (any_waiters_ == 0) return;
    notified(any_);
    any_.notify_all();
}

bool LoopLeader::wait_for_any(Lock& lock, Clock::time_point deadline,
                              std::function<bool()> const& ready) {
    ++any_waiters_;
    ScopeExit const left([this] { --any_waiters_; });
    return wait(lock, any_, deadline, ready, Turn::at_once);
}

void LoopLeader::wake_all() {
    if (awaited_ != nullptr) notified(*awaited_);
    for (auto* const each : next_) each->notify_all();
}

void LoopLeader::close() {
    closed_ = true;
    pass_on();
}

void LoopLeader::attend(Lock& lock) {
    std::function<bool()> const leaves = [this] {
        return background_leaves_ && !background_is_wanted();
    };
    SpinPolicy never;
    int looks = 0;  // checks in a row that found the same driver
    for (auto seen = turns_given_up_; !stopped_;) {
        bool const vacant = driver_ == Driver::none;
        if (seen != turns_given_up_) looks = 0;
        seen = turns_given_up_;
        if (vacant && (background_is_wanted() || Clock::now() - vacant_since_ >= vacancy())) {
            background_leaves_ = false;
            drive(lock, Driver::background,
                  [&] { return loop_.drive(leaves, Clock::time_point::max(), never); });
            pass_on();
        } else if (!vacant && looks++ == looks_before_it_sleeps) {
            background_sleeps_ = true;
            background_called_.wait(lock, [this] { return !background_sleeps_; });
            looks = 0;
        } else {
            background_called_.wait_for(lock,
                                        soon_in_a_row_ == soon_enough ? seldom : 2 * vacancy());
        }
    }
}

}  // namespace sinew::process
