// SPDX-License-Identifier: Apache-2.0
#include "src/wire/heartbeat.hpp"

#include <algorithm>

namespace sinew::wire {
namespace {

Clock::duration tick_of(LinkOptions const& options) {
    // The tick is a fraction of each limit, so that each is kept with a small relative error.
    Clock::duration tick = Clock::duration::max();
    auto const at_least = [&](Clock::duration time, int times) {
        if (time > Clock::duration::zero()) tick = std::min(tick, time / times);
    };
    at_least(options.heartbeat, 2);
    if (options.dead_after > Clock::duration::zero()) at_least(options.suspect_after, 4);
    at_least(options.dead_after, 8);
    if (tick == Clock::duration::max()) return Clock::duration::zero();
    return std::max<Clock::duration>(tick, std::chrono::milliseconds(1));
}

}  // namespace

Heartbeat::Heartbeat(LinkOptions const& options, Clock::time_point now)
    : options_(options), tick_(tick_of(options)), heard_(now), sent_(now), last_(now) {}

Heartbeat::Verdict Heartbeat::judge(Clock::time_point now, bool heard, Clock::duration lag) {
    auto const late = now - last_ - tick_;
    last_ = now;
    if (heard) {
        heard_ = now;
        yielding_ = Clock::duration::zero();
        bool const was_suspect = suspect_;
        suspect_ = false;
        return was_suspect ? Verdict::alive : Verdict::nothing_new;
    }
    if (late > tick_ / 2) {
        yielding_ += late;
        return Verdict::nothing_new;
    }
    auto const silent = silence(now);
    if (options_.dead_after > Clock::duration::zero() && silent > options_.dead_after + lag)
        return Verdict::dead;
    bool const watched = options_.suspect_after > Clock::duration::zero() &&
                         options_.dead_after > Clock::duration::zero();
    if (!watched || suspect_ || silent <= options_.suspect_after + lag) return Verdict::nothing_new;
    suspect_ = true;
    return Verdict::suspect;
}

bool Heartbeat::due(Clock::time_point now, bool sent) {
    if (sent) sent_ = now;
    if (options_.heartbeat <= Clock::duration::zero()) return false;
    // Rounds to the nearest tick.
    if (now - sent_ + tick_ / 2 < options_.heartbeat) return false;
    sent_ = now;
    return true;
}

}  // namespace sinew::wire
