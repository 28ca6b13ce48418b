// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>

#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// Decides how long an agent waits before it dials a root again. Without a clock.
class RedialPause {
public:
    /// `by_itself`: thousands of such agents may wait for one root, so that their pauses grow, up
    /// to 2 s, and are random. Otherwise a pause is 100 ms.
    explicit RedialPause(bool by_itself) : by_itself_(by_itself) {}

    /// The next pause is the shortest one again.
    void reset();
    /// After an attempt that failed. `unreachable`: nobody has accepted a connection, for which
    /// wire::dial has waited in pauses of its own. An agent that comes by itself then dials again
    /// at once, so that it does not miss a root that has begun to listen meanwhile.
    wire::Clock::duration next(bool unreachable);

private:
    static constexpr wire::Clock::duration first = std::chrono::milliseconds(100);
    static constexpr wire::Clock::duration longest = std::chrono::seconds(2);

    bool const by_itself_;
    wire::Clock::duration pause_ = first;
    std::minstd_rand random_{std::random_device{}()};
};

}  // namespace sinew::launch
