// SPDX-License-Identifier: Apache-2.0
#include "src/pool/worker/progress_report.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "src/pool/worker/fork_guard.hpp"

namespace sinew::pool {
namespace {

bool membarrier(int command) { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

// Registers the process for expedited memory barriers, once. Returns false if not supported.
bool has_membarrier() {
    static bool const has = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    return has;
}

void barrier_everywhere() {
    if (has_membarrier()) membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

}  // namespace

Progress::Progress(std::uint32_t count, std::mutex& guard)
    : end_(count), limit_(count), fences_(!has_membarrier()), guard_(guard) {}

// A thread that reads an end of `kept` or lower before it begins task `kept` waits for the guard
// and checks again. If task `kept` has not been tried by the time of the barrier, a later attempt
// reads this end; if it has been, it may have begun under an earlier end, so the guess was too low.
std::uint32_t Progress::revoke() {
    for (std::uint32_t room = 0;; room = std::max(1u, 2 * room)) {
        auto const tried = std::uint64_t{begun_.load()} + room;
        auto const kept = static_cast<std::uint32_t>(std::min<std::uint64_t>(tried, limit_));
        end_.store(kept);
        barrier_everywhere();
        if (kept == limit_ || begun_.load() <= kept) return limit_ = kept;
    }
}

bool Progress::settled(std::uint32_t offset) {
    end_if_forked();  // the guard may stay locked forever in a forked child
    std::lock_guard const lock(guard_);
    return offset < limit_;
}

}  // namespace sinew::pool
