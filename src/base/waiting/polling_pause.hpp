// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace sinew {

/// Decides what a thread does between two polls: it yields its processor or naps.
///
/// A yield among threads that poll costs a microsecond. Beside a thread that computes it costs that
/// thread's whole time slice, some milliseconds, on schedulers that make whoever yields wait for its
/// next turn (Linux since 6.6, and more so since 6.18); a sleeper is woken at once. So a yield that
/// took long is followed by naps, by twice as many each time that the next yield takes long, too.
///
/// Takes times and has no clock. For one thread at a time.
class PollingPause {
public:
    /// Whether the next pause is a nap. If not, it is a yield; say then how long it took.
    bool naps();
    void yielded(std::chrono::nanoseconds took);

private:
    int left_ = 0, next_ = 16;
};

/// Yields, or naps for about 20 us, as this thread's own PollingPause says. Any thread may call it.
void pause_between_polls();

}  // namespace sinew
