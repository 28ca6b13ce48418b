// SPDX-License-Identifier: Apache-2.0
#include "src/pool/worker/loop_leader.hpp"

#include "src/base/waiting/wake_up.hpp"

namespace sinew::pool {

void LoopLeader::drive() {
    std::unique_lock lock(mutex_);
    main_waits_ = true;
    call_back();
    vacated_.wait(lock, [this] { return driver_.load() == Driver::none; });
    main_waits_ = false;
    driver_.store(Driver::main);
    lock.unlock();
    // Checks `news_` first: messages may have arrived while the watchdog drove the loop.
    if (!policy_) policy_ = make_spin_policy();
    loop_.drive([this] { return news_.load(); }, wire::Clock::time_point::max(), *policy_);
    news_.store(false);
    driver_.store(Driver::none);
    turns_given_up_.fetch_add(1);
}

void LoopLeader::leave() { news_.store(true); }

void LoopLeader::release_background() {
    turns_given_up_.fetch_add(1);
    if (driver_.load(std::memory_order_relaxed) != Driver::watchdog) return;
    std::lock_guard const lock(mutex_);
    call_back();
}

void LoopLeader::close() {
    std::lock_guard const lock(mutex_);
    closed_ = true;
    call_back();
}

void LoopLeader::stand_in(std::function<void()> const& prepare) {
    std::unique_lock lock(mutex_);
    if (driver_.load() != Driver::none || main_waits_ || closed_) return;
    prepare();
    driver_.store(Driver::watchdog);
    lock.unlock();
    SpinPolicy never;  // the main thread needs the processor
    loop_.run(never);
    lock.lock();
    driver_.store(Driver::none);
    called_back_ = false;
    vacated_.notify_one();
}

// Stops the watchdog's run of the loop, once: a second stop might end the next run.
void LoopLeader::call_back() {
    if (driver_.load() != Driver::watchdog || called_back_) return;
    called_back_ = true;
    loop_.stop();
}

}  // namespace sinew::pool
