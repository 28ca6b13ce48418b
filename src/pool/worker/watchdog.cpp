// SPDX-License-Identifier: Apache-2.0
#include "src/pool/worker/watchdog.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

#include "src/base/system/resident.hpp"
#include "src/base/system/signals_blocked.hpp"

namespace sinew::pool {
namespace {

using namespace std::chrono_literals;

constexpr auto tick = 5ms;
constexpr auto stays_awake = 1s;
constexpr auto between_memory = 100ms;
constexpr auto held_up = 100ms;  ///< a check this late: the process was stopped

std::chrono::nanoseconds limit(std::uint64_t ns) {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(ns));
}

}  // namespace

void die(process::StatusPage& page, Verdict verdict) {
    page.verdict.store(static_cast<std::uint64_t>(verdict));
    for (;;) ::kill(::getpid(), SIGKILL);
}

Watchdog::Watchdog(WatchdogConfig const& config)
    : config_(config), statm_(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)),
      word_since_(Clock::now()), last_look_(word_since_), last_memory_(word_since_),
      last_work_(word_since_) {
    SignalsBlocked const blocked;
    thread_ = std::thread([this] { attend(); });
}

Watchdog::~Watchdog() {
    config_.loop_leader.close();
    {
        std::lock_guard const lock(mutex_);
        over_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void Watchdog::attend() {
    while (sleep()) {
        look();
        auto const turns_given_up = config_.loop_leader.turns_given_up();
        bool const away = turns_given_up == std::exchange(seen_turns_given_up_, turns_given_up);
        if (config_.loop_leader.main_drives()) continue;
        last_work_ = last_look_;
        if (away) stand_in();
    }
}

// Returns false when the watchdog must end.
bool Watchdog::sleep() {
    std::unique_lock lock(mutex_);
    bool const idle = last_look_ - last_work_ > stays_awake;
    if (!idle) {
        changed_.wait_for(lock, tick, [this] { return over_; });
        return !over_;
    }
    asleep_.store(true);
    // A turn given up from here on sees `asleep_`; an earlier one is seen by this check.
    if (config_.loop_leader.turns_given_up() == seen_turns_given_up_)
        changed_.wait(lock, [this] { return over_ || woken_; });
    asleep_.store(false);
    woken_ = false;
    last_look_ = last_work_ = Clock::now();
    return !over_;
}

void Watchdog::wake_up() {
    {
        std::lock_guard const lock(mutex_);
        woken_ = true;
    }
    changed_.notify_one();
}

void Watchdog::stand_in() {
    wire::Loop::Handle looking;
    config_.loop_leader.stand_in([&] {
        std::lock_guard const lock(config_.guard);
        looking = config_.loop.every(tick, [this] { look(); });
        stands_in_ = true;
    });
    std::lock_guard const lock(config_.guard);
    stands_in_ = false;
    looking = {};
}

void Watchdog::look() {
    auto const now = Clock::now();
    auto const late = now - std::exchange(last_look_, now) - tick;
    if (late > held_up) word_since_ += late;
    if (config_.page.lease_is_over()) die(config_.page, Verdict::lease_over);
    look_at_task(now);
    if (config_.max_rss_bytes != 0 && now - last_memory_ >= between_memory) look_at_memory(now);
}

void Watchdog::look_at_task(Clock::time_point now) {
    auto const word = config_.current.word();
    if (word != word_) {
        word_ = word;
        word_since_ = now;
        asked_to_stop_ = false;
    }
    if (word == nothing_running) return;
    auto const soft = limit(config_.executor.soft_limit_ns());
    auto const hard = limit(config_.executor.hard_limit_ns());
    if (config_.current.word() != word) return;  // the limits may be the next task's
    auto const ran = now - word_since_;
    if (hard.count() > 0 && ran > hard) die(config_.page, Verdict::hard_limit);
    if (soft.count() > 0 && ran > soft && !std::exchange(asked_to_stop_, true))
        config_.current.ask_to_stop(word);
}

void Watchdog::look_at_memory(Clock::time_point now) {
    last_memory_ = now;
    auto const resident = resident_bytes(statm_.get());
    auto const most = config_.max_rss_bytes;
    if (resident > most + most / 2) die(config_.page, Verdict::memory_limit);
    if (resident <= most || std::exchange(recycled_, true)) return;
    std::unique_lock lock(config_.guard, std::defer_lock);
    if (!stands_in_) lock.lock();
    config_.recycled();
}

}  // namespace sinew::pool
