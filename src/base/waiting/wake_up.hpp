// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/waiting/spin_policy.hpp"

namespace sinew {

/// The latency of a wake-up on this machine: the time from an event to the sleeping thread's next
/// step when the waking thread runs on another processor.
struct WakeUp {
    enum class Source : std::uint8_t {
        told,      ///< set by SINEW_WAKE_UP
        kept,      ///< measured by an earlier process
        measured,  ///< measured by this process
        assumed,   ///< not measurable: one processor, or all of them busy
    };
    std::chrono::nanoseconds cost;
    Source source;
};

/// Returns this process's value, which the first call determines: SINEW_WAKE_UP; or the value in
/// the cache beside the machine's model; or a measurement of some twenty wake-ups of one thread by
/// another, which takes 1 to 3 ms. Thread-safe. Throws UsageError if SINEW_WAKE_UP is invalid or
/// above 1 ms.
WakeUp const& wake_up();

/// Does the same at each call.
WakeUp find_wake_up();

/// Returns a description to print, such as "measured" or "measured earlier".
std::string_view name_of(WakeUp::Source source);

/// Makes the policy for waits of this process, based on wake_up(); it never polls unless
/// may_spin(). Throws UsageError as `wake_up` does, or if SINEW_SPIN is not a flag.
SpinPolicy make_spin_policy();

/// Returns whether waits of this process may poll before they sleep, by SINEW_SPIN and the
/// processors that the process may use. Throws UsageError if SINEW_SPIN is not a flag.
bool may_spin();
/// Returns false with fewer than two processors or a quota below two: a polling thread would take
/// the processor time that the answering thread needs.
bool may_spin(std::size_t processors, std::optional<double> quota);

/// Throws UsageError if SINEW_SPIN or SINEW_WAKE_UP is invalid. Call it before starting threads
/// that cannot report the exception.
void check_waiting_settings();

/// Measures it on this machine. Returns nothing if that does not succeed within 3 ms.
std::optional<std::chrono::nanoseconds> measure_wake_up();

/// Parses the cached line "21500 <boot id> <seconds since 1970>". Returns nothing if the line is
/// from another boot of the machine, a day old, or implausible.
std::optional<std::chrono::nanoseconds> wake_up_from_text(std::string const& line,
                                                          std::string const& boot,
                                                          std::int64_t now);
std::string wake_up_text(std::chrono::nanoseconds cost, std::string const& boot, std::int64_t now);

}  // namespace sinew
