// SPDX-License-Identifier: Apache-2.0
#include "src/pool/worker_attendant.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

#include "src/base/resident.hpp"

namespace sinew::pool {
namespace {

using namespace std::chrono_literals;

constexpr auto tick = 5ms;
constexpr auto stays_awake = 1s;
constexpr auto between_memory = 100ms;
constexpr auto held_up = 100ms;  ///< a look that comes so late: the whole process stood still

/// Signals are the main thread's, whose handlers expect it.
class SignalsBlocked {
public:
    SignalsBlocked() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, &former_);
    }
    ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &former_, nullptr); }
    SignalsBlocked(SignalsBlocked const&) = delete;

private:
    sigset_t former_;
};

std::chrono::nanoseconds limit(std::uint64_t ns) {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(ns));
}

}  // namespace

void die(process::StatusPage& page, Verdict verdict) {
    page.verdict.store(static_cast<std::uint64_t>(verdict));
    for (;;) ::kill(::getpid(), SIGKILL);
}

Attendant::Attendant(Charge const& charge)
    : charge_(charge), statm_(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)),
      word_since_(Clock::now()), last_look_(word_since_), last_memory_(word_since_),
      last_work_(word_since_) {
    SignalsBlocked const blocked;
    thread_ = std::thread([this] { attend(); });
}

Attendant::~Attendant() {
    charge_.seat.close();
    {
        std::lock_guard const lock(mutex_);
        over_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void Attendant::attend() {
    while (sleep()) {
        look();
        auto const departures = charge_.seat.departures();
        bool const away = departures == std::exchange(seen_departures_, departures);
        if (charge_.seat.main_drives()) continue;
        last_work_ = last_look_;
        if (away) stand_in();
    }
}

// False: it is over.
bool Attendant::sleep() {
    std::unique_lock lock(mutex_);
    bool const idle = last_look_ - last_work_ > stays_awake;
    if (!idle) {
        changed_.wait_for(lock, tick, [this] { return over_; });
        return !over_;
    }
    asleep_.store(true);
    // Whoever goes away from now on sees that; who did before is seen here.
    if (charge_.seat.departures() == seen_departures_)
        changed_.wait(lock, [this] { return over_ || woken_; });
    asleep_.store(false);
    woken_ = false;
    last_look_ = last_work_ = Clock::now();
    return !over_;
}

void Attendant::wake_up() {
    {
        std::lock_guard const lock(mutex_);
        woken_ = true;
    }
    changed_.notify_one();
}

void Attendant::stand_in() {
    wire::Loop::Handle looking;
    charge_.seat.stand_in([&] {
        std::lock_guard const lock(charge_.guard);
        looking = charge_.loop.every(tick, [this] { look(); });
        stands_in_ = true;
    });
    std::lock_guard const lock(charge_.guard);
    stands_in_ = false;
    looking = {};
}

void Attendant::look() {
    auto const now = Clock::now();
    auto const late = now - std::exchange(last_look_, now) - tick;
    if (late > held_up) word_since_ += late;
    if (charge_.page.lease_is_over()) die(charge_.page, Verdict::lease_over);
    look_at_task(now);
    if (charge_.max_rss_bytes != 0 && now - last_memory_ >= between_memory) look_at_memory(now);
}

void Attendant::look_at_task(Clock::time_point now) {
    auto const word = charge_.current.word();
    if (word != word_) {
        word_ = word;
        word_since_ = now;
        asked_to_stop_ = false;
    }
    if (word == nothing_running) return;
    auto const soft = limit(charge_.executor.soft_limit_ns());
    auto const hard = limit(charge_.executor.hard_limit_ns());
    if (charge_.current.word() != word) return;  // perhaps the limits were the next one's
    auto const ran = now - word_since_;
    if (hard.count() > 0 && ran > hard) die(charge_.page, Verdict::hard_limit);
    if (soft.count() > 0 && ran > soft && !std::exchange(asked_to_stop_, true))
        charge_.current.ask_to_stop(word);
}

void Attendant::look_at_memory(Clock::time_point now) {
    last_memory_ = now;
    auto const resident = resident_bytes(statm_.get());
    auto const most = charge_.max_rss_bytes;
    if (resident > most + most / 2) die(charge_.page, Verdict::memory_limit);
    if (resident <= most || std::exchange(worn_, true)) return;
    std::unique_lock lock(charge_.guard, std::defer_lock);
    if (!stands_in_) lock.lock();
    charge_.worn();
}

}  // namespace sinew::pool
