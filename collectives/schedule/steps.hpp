// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>

#include "collectives/channel.hpp"

namespace sinew::collectives {

/// The smallest k with 2^k >= ranks: the rounds in which a message reaches all ranks.
constexpr int rounds_to_reach(int ranks) {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
}

/// Counts the steps of an algorithm, for error texts. All phases of the algorithm share it.
class Steps {
public:
    Steps(Channel& channel, int of) : channel_(channel), of_(of) {}
    void next() { channel_.step(++now_, of_); }

private:
    Channel& channel_;
    int of_;
    int now_ = 0;
};

}  // namespace sinew::collectives
