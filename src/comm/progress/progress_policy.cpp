// SPDX-License-Identifier: Apache-2.0
#include "src/comm/progress/progress_policy.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include <sinew/error.hpp>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/base/waiting/interruption.hpp"
#include "src/base/waiting/polling_pause.hpp"

namespace sinew::detail {

using namespace std::chrono_literals;

namespace {

constexpr auto look_interval = 5ms;
/// Rounds per reading of the clock, which together with a probe costs more than a yield.
constexpr int rounds_per_clock = 16;
constexpr auto nap = 20us;
/// Yields of a rank that waits for memory, before it sleeps until its peer wakes it. Among ranks of
/// one session a yield lets the peer run; across sessions and cgroups it has no effect.
constexpr int yields_before_sleep = 40;
constexpr int rounds_per_progress = 4;
/// The most that the time between two polls counts as waiting. If more passes, the process was
/// stopped or, without an engine thread, the application computed, which is not the peers' fault.
constexpr auto longest_counted = 1s;

}  // namespace

void ProgressPolicy::idle(int round, collectives::Channel const& channel) {
    idle(round, channel.waiting_for(), channel.current_step(), channel.steps());
}

void ProgressPolicy::idle(int round, int peer, int step, int steps) {
    pause(round);
    if (operation_ == nullptr && round % rounds_per_clock != 0 && round < pace_.yields) return;
    keep_time(round, peer, step, steps);
}

std::chrono::nanoseconds ProgressPolicy::idle_on_memory(int round,
                                                        collectives::Channel const& channel) {
    int const peer = channel.waiting_for();
    bool const sleeps = operation_ == nullptr && round >= yields_before_sleep;
    if (operation_ != nullptr) pause(round);
    else engine_.drive();
    bool const naps = operation_ == nullptr && !sleeps && !yield_between_polls();
    // The peer may be in a call of the medium that needs this rank's help: a message of the
    // application that is longer than the medium buffers. Where ranks share processors the medium yields,
    // too, and a rank naps because yields take long.
    bool const helps = sleeps || (naps && pace_.memory_yields == 0);
    if (helps || round % rounds_per_progress == rounds_per_progress - 1) transport_.progress();
    if (sleeps || operation_ != nullptr || round % rounds_per_clock == 0)
        keep_time(round, peer, channel.current_step(), channel.steps());
    return sleeps || naps ? node_memory::longest_nap : std::chrono::nanoseconds{};
}

void ProgressPolicy::look_on_memory(int round, int peer) {
    if (round % rounds_per_progress == rounds_per_progress - 1) transport_.progress();
    engine_.drive();
    keep_time(round, peer, 0, 0);
}

void ProgressPolicy::keep_time(int round, int peer, int step, int steps) {
    auto const now = Clock::now();
    if (start_ == Clock::time_point{}) {
        start_ = seen_ = now;
        next_look_ = now + look_interval;
        next_interrupt_check_ = now + interrupt_check_interval;
    }
    count(now, round == 0);
    if (now < next_look_) return;
    next_look_ = now + look_interval;
    look_around(peer, step, steps);
}

void ProgressPolicy::count(Clock::time_point now, bool progressed) {
    // The time of a non-blocking message counts only while it is awaited.
    bool const idle = operation_ != nullptr && !in_collective_ && !operation_->awaited();
    if (progressed || idle) {
        waited_ = forgiven_ = {};
        all_came_ = false;
    } else waited_ += std::min<Clock::duration>(now - seen_, longest_counted);
    seen_ = now;
}

void ProgressPolicy::pause(int round) {
    if (operation_ != nullptr) {
        if (round == 0) engine_.note_progress();
        operation_->suspend();
        return;
    }
    engine_.drive();  // without an engine thread, other operations progress here
    if (round < pace_.yields) pause_between_polls();
    else std::this_thread::sleep_for(nap);
}

void ProgressPolicy::look_around(int peer, int step, int steps) {
    detector_.poll();
    auto const now = Clock::now();
    if (auto const trouble = detector_.trouble())
        throw PeerLost(text(waits(now, " stopped after ", peer, step, steps), " (", *trouble,
                            "). This communicator is lost"));
    if (operation_ == nullptr && now >= next_interrupt_check_) {
        next_interrupt_check_ = now + interrupt_check_interval;
        if (interrupted())
            throw Interrupted(
                text(waits(now, " was interrupted by its program after ", peer, step, steps),
                     ". This communicator is lost"));
    }
    if (waited_ - forgiven_ > deadlines_.silent) decide(now, peer, step, steps);
}

/// Called at the deadline. Extends it for ranks that answer and are only late; else throws Timeout.
void ProgressPolicy::decide(Clock::time_point now, int peer, int step, int steps) {
    FailureDetector::Findings const findings = detector_.investigate(in_collective_, peer);
    // A rank that has just come may not have sent its messages yet, so the wait continues once. If
    // they do not come either, no rank is late and something is wrong.
    bool const just_came = findings.all_came && !std::exchange(all_came_, true);
    if ((!findings.only_late && !just_came) || waited_ > deadlines_.late)
        throw Timeout(
            text(waits(now, " stopped after ", peer, step, steps), " (", findings.text,
                 findings.all_came || findings.calls_differ
                     ? "). Do they make the same call? SINEW_CHECK=1 compares the calls; "
                     : "). Are they alive? ",
                 "SINEW_TIMEOUT sets the deadline",
                 findings.only_late ? ", SINEW_LATE_TIMEOUT that for ranks that answer" : ""));
    forgiven_ = waited_;
    if (findings.only_late && findings.speaks && !std::exchange(warned_, true))
        log_warning(
            text(waits(now, " has waited for ", peer, step, steps), " (", findings.text,
                 "). All ranks answer, so it continues to wait; SINEW_LATE_TIMEOUT sets how long"));
}

std::string ProgressPolicy::subject() const { return text(detector_.self_text(), ": ", what_()); }

std::string ProgressPolicy::waits(Clock::time_point now, char const* how, int peer, int step,
                                  int steps) const {
    auto const seconds = [](Clock::duration time) {
        double const exact = std::chrono::duration<double>(time).count();
        return static_cast<double>(static_cast<long>(exact * 100)) / 100;
    };
    std::string words = text(subject(), how, seconds(now - start_), " s");
    if (waited_ + longest_counted < now - start_)
        words += text(", ", seconds(waited_), " s of them without progress");
    if (peer >= 0) words += ", waiting for " + detector_.rank_text(peer);
    if (steps > 0) words += text(" at step ", step, " of ", steps);
    return words;
}

}  // namespace sinew::detail
