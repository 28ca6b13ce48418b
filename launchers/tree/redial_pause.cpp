// SPDX-License-Identifier: Apache-2.0
#include "launchers/tree/redial_pause.hpp"

#include <algorithm>
#include <utility>

namespace sinew::launch {

void RedialPause::reset() { pause_ = first; }

wire::Clock::duration RedialPause::next(bool unreachable) {
    if (!by_itself_) return first;
    if (unreachable) return {};
    auto const most = std::exchange(pause_, std::min(2 * pause_, longest));
    return most / 2 + most / 2 * (random_() % 256) / 256;
}

}  // namespace sinew::launch
