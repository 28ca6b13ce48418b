// SPDX-License-Identifier: Apache-2.0
#include "src/process/seat.hpp"

#include <sched.h>

#include <exception>
#include <utility>

namespace sinew::process {
namespace {

// The attendant lets the seat be vacant for so long, and looks so often.
constexpr auto vacancy = std::chrono::microseconds(100);
constexpr auto look = std::chrono::microseconds(200);
// A little more than an answer takes that comes at once.
constexpr auto longest_polling = std::chrono::microseconds(25);

thread_local bool drives = false;

bool several_processors() {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    return ::sched_getaffinity(0, sizeof mine, &mine) != 0 || CPU_COUNT(&mine) > 1;
}

}  // namespace

bool Seat::driving() { return drives; }

// With one processor, who looks keeps the other from answering.
Seat::Seat(wire::Loop& loop, std::function<void(std::exception const&)> log)
    : loop_(loop), log_(std::move(log)),
      polling_(several_processors() ? longest_polling : std::chrono::microseconds(0)) {}

bool Seat::wait(Lock& lock, std::condition_variable& changed, Clock::time_point deadline,
                std::function<bool()> const& ready, Turn turn) {
    auto const late = [deadline] {
        return deadline != Clock::time_point::max() && Clock::now() >= deadline;
    };
    // What has arrived counts, even where there is no time left.
    for (bool first = true; !ready() && (first || !late()); first = false) {
        if (driver_ == Driver::none && !attendant_is_wanted()) {
            awaited_ = &changed;
            drive(lock, Driver::waiter, [&] { return loop_.drive(ready, deadline, polling_); });
            awaited_ = nullptr;
        } else {
            follow(lock, changed, deadline, turn);
        }
    }
    pass_on();
    return ready();
}

void Seat::relieve() {
    if (driver_ == Driver::attendant) attendant_leaves_ = true;
}

void Seat::glance(Lock& lock) {
    if (driver_ != Driver::none || attendant_is_wanted()) return;
    drive(lock, Driver::waiter, [this] { return loop_.glance(); });
    pass_on();
}

template <class Drive>
void Seat::drive(Lock& lock, Driver who, Drive const& drive) {
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
    ++departures_;
    vacant_since_ = Clock::now();
}

void Seat::follow(Lock& lock, std::condition_variable& changed, Clock::time_point deadline,
                  Turn turn) {
    auto const place = turn == Turn::at_once ? next_.insert(next_.end(), &changed) : next_.end();
    ++followers_;
    if (deadline == Clock::time_point::max()) changed.wait(lock);
    else changed.wait_until(lock, deadline);
    --followers_;
    if (turn == Turn::at_once) next_.erase(place);
}

// By whoever goes, or wants somebody to drive: nobody waits at a vacant seat for longer than a moment.
void Seat::pass_on() {
    if (driver_ != Driver::none) return;
    if (!attendant_is_wanted() && !next_.empty()) return next_.front()->notify_all();
    if (attendant_is_wanted() || attendant_sleeps_) {
        attendant_sleeps_ = false;
        attendant_called_.notify_one();
    }
}

void Seat::notified(std::condition_variable& changed) {
    if (followers_ > 0) attendant_leaves_ = true;
    // It does not look at the condition while it waits for events.
    if (driver_ == Driver::waiter && awaited_ == &changed && !drives) loop_.post([] {});
}

void Seat::notify_one(std::condition_variable& changed) {
    notified(changed);
    if (driver_ != Driver::waiter || awaited_ != &changed) changed.notify_one();
}

void Seat::notify_all(std::condition_variable& changed) {
    notified(changed);
    changed.notify_all();
}

void Seat::wake_all() {
    if (awaited_ != nullptr) notified(*awaited_);
    for (auto* const each : next_) each->notify_all();
}

void Seat::close() {
    closed_ = true;
    pass_on();
}

void Seat::attend(Lock& lock) {
    std::function<bool()> const leaves = [this] {
        return attendant_leaves_ && !attendant_is_wanted();
    };
    wire::Polling never;
    for (auto seen = departures_; !stopped_;) {
        bool const vacant = driver_ == Driver::none;
        if (vacant && (attendant_is_wanted() || Clock::now() - vacant_since_ >= vacancy)) {
            attendant_leaves_ = false;
            drive(lock, Driver::attendant,
                  [&] { return loop_.drive(leaves, Clock::time_point::max(), never); });
            pass_on();
        } else if (!vacant && seen == departures_) {
            attendant_sleeps_ = true;
            attendant_called_.wait(lock, [this] { return !attendant_sleeps_; });
        } else {
            seen = departures_;
            attendant_called_.wait_for(lock, look);
        }
    }
}

}  // namespace sinew::process
