// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "src/pool/scheduler/events.hpp"
#include "src/pool/scheduler/job.hpp"

namespace sinew::pool {

/// A slot of the pool, and the worker in it.
struct Worker {
    enum class Phase : std::uint8_t { vacant, starting, ready, leaving, killed };
    Phase phase = Phase::vacant;
    bool suspect = false;     ///< not heard of for a while
    bool draining = false;    ///< finishes what it has, then ends
    bool recycled = false;    ///< works until its successor is ready
    bool idle_timer = false;  ///< a timer will check whether it is idle
    std::uint32_t slot = 0, epoch = 0;
    std::uint32_t revokes = 0;    ///< without an answer
    std::uint64_t budget = 0;     ///< tasks it may still be given
    Time idle_since{};            ///< if it has no batches
    std::vector<Batch*> batches;  ///< in the order in which they were sent

    WorkerId id() const { return {slot, epoch}; }
    /// Will be available for new work, as far as is known.
    bool counts() const { return phase == Phase::starting || (phase == Phase::ready && !draining); }
    bool usable() const { return phase == Phase::ready && !draining; }
    /// Returns null if it does not have this batch.
    Batch* find(BatchId id) const {
        auto const found = std::find_if(batches.begin(), batches.end(),
                                        [&](Batch const* batch) { return batch->id == id; });
        return found == batches.end() ? nullptr : *found;
    }
};

}  // namespace sinew::pool
