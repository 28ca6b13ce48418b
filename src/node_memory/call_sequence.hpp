// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "src/base/waiting/polling_pause.hpp"

namespace sinew::node_memory {

/// How long a rank that shares its processor looks for the lines of others before it yields.
///
/// In calls that follow each other at once each processor changes its rank once per call. One that changes it once more falls behind the
/// others by a change of ranks and a call, and if they do not look for so long, they change theirs once more, too, and so on: calls then
/// take twice as long. Single calls are not awaited for so long, since the ranks of a processor enter them one after the other.
///
/// What a change takes is measured: a yield to another rank takes two of them, and what that rank does in a call. Calls follow each other
/// at once if less than half of the time of the last yield has passed since it ended (on an AMD EPYC 0.2 to 0.8 us of 2.8; between single
/// calls at least 4.2 us pass).
///
/// Receives all times from the caller and reads no clock. Not thread-safe.
class CallSequence {
public:
    using Time = std::chrono::steady_clock::time_point;

    void yielded(Yield const& yield) { last_ = yield; }
    /// Until when a rank looks that has looked in vain for a moment.
    Time looks_until(Time now) const {
        auto const change = last_.took / 2;
        return now - last_.ended < change ? now + change : now;
    }

private:
    Yield last_;
};

}  // namespace sinew::node_memory
