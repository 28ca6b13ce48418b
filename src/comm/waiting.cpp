// SPDX-License-Identifier: Apache-2.0
#include "src/comm/waiting.hpp"

#include <sched.h>

#include <thread>

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::detail {

using namespace std::chrono_literals;

namespace {

constexpr auto look_interval = 5ms;
/// Yields are cheap beside a clock and a probe: look at the clock only once in so many.
constexpr int rounds_per_clock = 16;
constexpr auto nap = 20us;

}  // namespace

void Waiting::idle(int round, collectives::Channel const& channel) {
    idle(round, channel.waiting_for(), channel.current_step(), channel.steps());
}

void Waiting::idle(int round, int peer, int step, int steps) {
    pause(round);
    if (operation_ == nullptr && round % rounds_per_clock != 0 && round < pace_.yields) return;
    auto const now = Clock::now();
    if (start_ == Clock::time_point{}) {
        start_ = now;
        next_look_ = now + look_interval;
    }
    if (now < next_look_) return;
    next_look_ = now + look_interval;
    look_around(peer, step, steps);
}

void Waiting::pause(int round) {
    if (operation_ != nullptr) {
        if (round == 0) engine_.note_progress();
        operation_->suspend();
        return;
    }
    engine_.drive();  // where nobody else does: other operations must get on while this one waits
    if (round < pace_.yields) ::sched_yield();
    else std::this_thread::sleep_for(nap);
}

void Waiting::look_around(int peer, int step, int steps) {
    watch_.poll();
    auto const now = Clock::now();
    if (auto const trouble = watch_.trouble())
        throw PeerLost(
            text(stopped(now, peer, step, steps), " (", *trouble, "). This communicator is lost"));
    bool const expired = operation_ != nullptr ? operation_->expired(now) : now - start_ > timeout_;
    if (!expired) return;
    std::string const report = watch_.investigate(in_collective_, peer);
    throw Timeout(text(stopped(now, peer, step, steps), " (", report,
                       "). Are they alive? SINEW_TIMEOUT sets the deadline"));
}

std::string Waiting::subject() const { return text(watch_.self_text(), ": ", what_()); }

std::string Waiting::stopped(Clock::time_point now, int peer, int step, int steps) const {
    double const seconds = std::chrono::duration<double>(now - start_).count();
    std::string words = text(subject(), " stopped after ",
                             static_cast<double>(static_cast<long>(seconds * 100)) / 100, " s");
    if (peer >= 0) words += ", waiting for " + watch_.rank_text(peer);
    if (steps > 0) words += text(" at step ", step, " of ", steps);
    return words;
}

}  // namespace sinew::detail
