// SPDX-License-Identifier: Apache-2.0
#include "src/comm/progress/engine.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/base/waiting/polling_pause.hpp"
#include "src/comm/progress/failure_detector.hpp"

namespace sinew::detail {

using namespace std::chrono_literals;

namespace {

/// Interval at which the engine's thread polls the failure detectors.
constexpr auto heartbeat = 50ms;
/// Rounds without progress before the thread naps between rounds, to leave its core to others.
constexpr int attentive_rounds = 200;
constexpr auto nap = 20us;

}  // namespace

Operation::Operation(std::shared_ptr<Engine> engine, std::function<void(Operation&)> body,
                     bool can_be_withdrawn)
    : withdrawable(can_be_withdrawn), engine_(std::move(engine)), body_(std::move(body)) {}

bool Operation::poll() {
    engine_->drive();
    return done();
}

bool Operation::wait(std::optional<Clock::time_point> until) { return engine_->wait(*this, until); }

bool Operation::withdraw() {
    if (!withdrawable || done()) return false;
    withdrawal_.store(Withdrawal::asked, std::memory_order_release);
    while (!done() && withdrawal() == Withdrawal::asked) {
        engine_->drive();
        pause_between_polls();
    }
    if (withdrawal() != Withdrawal::done) return false;
    return engine_->wait(*this, std::nullopt);
}

Received Operation::take_result() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return received;
}

std::shared_ptr<Engine> Engine::make(Threading threading) {
    std::shared_ptr<Engine> engine(new Engine(threading), &Engine::release);
    if (engine->threaded())
        engine->thread_ = std::thread([raw = engine.get()] {
            raw->run();
            if (raw->orphaned_) delete raw;
        });
    return engine;
}

std::shared_ptr<Engine> Engine::of_process(Threading threading) {
    static std::mutex mutex;
    static std::array<std::weak_ptr<Engine>, 2> engines;
    std::lock_guard const lock(mutex);
    auto& known = engines.at(threading == Threading::any ? 1 : 0);
    auto engine = known.lock();
    if (!engine) known = engine = make(threading);
    return engine;
}

void Engine::release(Engine* engine) {
    {
        std::lock_guard const lock(engine->mutex_);
        engine->stopping_ = true;
    }
    if (engine->thread_.get_id() == std::this_thread::get_id()) {
        engine->orphaned_ = true;  // deletes itself at the end of its thread
        engine->thread_.detach();
        return;
    }
    engine->changed_.notify_all();
    if (engine->thread_.joinable()) engine->thread_.join();
    delete engine;
}

void Engine::check_room() {
    std::lock_guard const lock(mutex_);
    if (alive_ >= most_operations)
        throw UsageError(text(alive_,
                              " non-blocking operations are under way in this process (no more are "
                              "possible). Wait for some of them first"));
}

void Engine::submit(std::shared_ptr<Operation> operation, void const* chain) {
    operation->chain_ = chain;
    {
        std::lock_guard const lock(mutex_);
        submitted_.push_back(std::move(operation));
        ++alive_;
    }
    if (threaded()) changed_.notify_all();
}

bool Engine::wait(Operation& operation, std::optional<Operation::Clock::time_point> until) {
    if (!threaded()) {
        for (int quiet_rounds = 0; !operation.done();) {
            if (until && Operation::Clock::now() >= *until) return false;
            progressed_ = false;
            drive();
            quiet_rounds = progressed_ ? 0 : quiet_rounds + 1;
            if (quiet_rounds > attentive_rounds) std::this_thread::sleep_for(nap);
            else pause_between_polls();
        }
        return true;
    }
    for (int i = 0; i < attentive_rounds && !operation.done(); ++i) pause_between_polls();
    std::unique_lock lock(mutex_);
    auto const done = [&] { return operation.done(); };
    if (until) return changed_.wait_until(lock, *until, done);
    changed_.wait(lock, done);
    return true;
}

void Engine::drive() {
    if (threaded() || driving_) return;
    driving_ = true;
    round();
    driving_ = false;
}

void Engine::run() {
    ::prctl(PR_SET_NAME, "sinew-engine");
    ::prctl(PR_SET_TIMERSLACK, 1UL);  // otherwise a nap of 20 us takes 70 us
    int quiet_rounds = 0;
    for (auto last_poll = Operation::Clock::now();;) {
        {
            std::unique_lock lock(mutex_);
            if (running_.empty())
                changed_.wait_for(lock, heartbeat,
                                  [&] { return stopping_ || !submitted_.empty(); });
            if (stopping_) return;
        }
        progressed_ = false;
        round();
        quiet_rounds = progressed_ ? 0 : quiet_rounds + 1;
        if (running_.empty() || Operation::Clock::now() - last_poll > heartbeat) {
            poll_watches();
            last_poll = Operation::Clock::now();
        }
        if (running_.empty()) continue;
        if (quiet_rounds > attentive_rounds) std::this_thread::sleep_for(nap);
        else pause_between_polls();
    }
}

void Engine::adopt() {
    std::lock_guard const lock(mutex_);
    for (auto& operation : submitted_) {
        progressed_ = true;
        if (operation->chain_ != nullptr) {
            auto const [chain, first] = waiting_.try_emplace(operation->chain_);
            if (!first) {
                chain->second.push_back(std::move(operation));
                continue;
            }
        }
        running_.push_back(std::move(operation));
    }
    submitted_.clear();
}

std::shared_ptr<Operation> Engine::next_of_chain(void const* chain) {
    auto const waiting = waiting_.find(chain);
    if (waiting == waiting_.end()) return nullptr;
    if (waiting->second.empty()) {
        waiting_.erase(waiting);
        return nullptr;
    }
    auto next = std::move(waiting->second.front());
    waiting->second.pop_front();
    return next;
}

void Engine::round() {
    adopt();
    for (auto it = running_.begin(); it != running_.end();) {
        if (!resume(**it)) {
            ++it;
            continue;
        }
        progressed_ = true;
        std::shared_ptr<Operation> const ended = std::move(*it);
        it = running_.erase(it);
        if (auto next = next_of_chain(ended->chain_)) it = running_.insert(it, std::move(next));
        if (ended->fiber_) idle_fibers_.push_back(std::move(ended->fiber_));
        ended->body_ = nullptr;  // releases its captures before the end is visible
        {
            std::lock_guard const lock(mutex_);
            ended->done_.store(true, std::memory_order_release);
            --alive_;
        }
        changed_.notify_all();
    }
}

bool Engine::resume(Operation& operation) {
    try {
        if (!operation.fiber_) give_fiber(operation);
    } catch (std::exception const&) {  // no memory for its stack
        operation.error_ = std::current_exception();
        return true;
    }
    operation.fiber_->resume();
    return operation.fiber_->ended();
}

void Engine::give_fiber(Operation& operation) {
    if (idle_fibers_.empty()) operation.fiber_ = std::make_unique<Fiber>();
    else {
        operation.fiber_ = std::move(idle_fibers_.back());
        idle_fibers_.pop_back();
    }
    operation.fiber_->start([&operation] {
        try {
            operation.body_(operation);
        } catch (...) {
            operation.error_ = std::current_exception();
        }
    });
}

void Engine::poll_watches() {
    std::lock_guard const lock(watches_mutex_);
    for (FailureDetector* const detector : detectors_) {
        try {
            detector->poll();
        } catch (std::exception const&) {
            // A thread that waits on that communicator polls, too, and gets the exception.
        }
    }
}

void Engine::add(FailureDetector& detector) {
    std::lock_guard const lock(watches_mutex_);
    detectors_.push_back(&detector);
}

void Engine::remove(FailureDetector& detector) {
    std::lock_guard const lock(watches_mutex_);
    std::erase(detectors_, &detector);
}

}  // namespace sinew::detail
