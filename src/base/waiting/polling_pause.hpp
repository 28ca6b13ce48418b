// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

namespace sinew {

/// Decides whether a thread yields its processor or naps between two polls.
///
/// A yield among polling threads costs a microsecond. Beside a computing thread it costs that
/// thread's whole time slice, some milliseconds, on schedulers that make a yielding thread wait for
/// its next turn (Linux since 6.6, and more so since 6.18); a sleeping thread is woken at once. A
/// long yield is therefore followed by naps, and each further long yield by twice as many.
///
/// Receives all times from the caller and reads no clock. Not thread-safe.
class PollingPause {
public:
    /// Returns whether the next pause is a nap. If not, the caller yields and calls `yielded`.
    bool naps();
    void yielded(std::chrono::nanoseconds took);

private:
    int left_ = 0, next_ = 16;
};

struct Yield {
    std::chrono::steady_clock::time_point ended;
    std::chrono::nanoseconds took{0};
};

/// Yields, unless the calling thread's PollingPause decides for a nap: then it returns nothing. A thread that its peers can wake
/// then sleeps until they do, which is shorter than a nap by the clock. Thread-safe.
std::optional<Yield> yield_between_polls();

/// Yields, or naps for about 20 us. Thread-safe.
void pause_between_polls();

}  // namespace sinew
