// SPDX-License-Identifier: Apache-2.0
#include "src/base/waiting/polling_pause.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace sinew {
namespace {

using namespace std::chrono_literals;

constexpr auto long_yield = 500us;  // above any poll, below any time slice
constexpr auto nap = 20us;
constexpr int fewest_naps = 16, most_naps = 1024;

}  // namespace

bool PollingPause::naps() {
    if (left_ == 0) return false;
    --left_;
    return true;
}

void PollingPause::yielded(std::chrono::nanoseconds took) {
    if (took < long_yield) {
        next_ = fewest_naps;
        return;
    }
    left_ = next_;
    next_ = std::min(2 * next_, most_naps);
}

std::optional<Yield> yield_between_polls() {
    thread_local PollingPause pause;
    if (pause.naps()) return {};
    auto const before = std::chrono::steady_clock::now();
    ::sched_yield();
    auto const after = std::chrono::steady_clock::now();
    pause.yielded(after - before);
    return Yield{after, after - before};
}

void pause_between_polls() {
    if (!yield_between_polls()) std::this_thread::sleep_for(nap);
}

}  // namespace sinew
