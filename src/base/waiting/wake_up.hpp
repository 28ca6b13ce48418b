// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/waiting/spin_policy.hpp"

namespace sinew {

/// What it costs on this machine to sleep until something comes: from the event to the sleeper's next
/// step, where the one who wakes it has another processor.
struct WakeUp {
    enum class Source : std::uint8_t {
        told,      ///< by SINEW_WAKE_UP
        kept,      ///< measured by an earlier process
        measured,  ///< by this one, just now
        assumed,   ///< it cannot be measured: one processor, or all of them busy
    };
    std::chrono::nanoseconds cost;
    Source source;
};

/// What counts in this process, found out at the first call: SINEW_WAKE_UP, or what is kept beside the
/// machine's model, or some twenty wake-ups of one thread by another, which takes 1 to 3 ms. Any
/// thread. Throws UsageError where SINEW_WAKE_UP is no time up to 1 ms.
WakeUp const& wake_up();

/// The same, found out anew.
WakeUp find_wake_up();

/// For people: "measured", "measured earlier".
std::string_view name_of(WakeUp::Source source);

/// For how long waits look before they sleep: by `wake_up`, or never where this process may not look
/// (see may_spin). Throws as `wake_up`, and where SINEW_SPIN is no flag.
SpinPolicy make_spin_policy();

/// Whether waits of this process may look before they sleep: not where SINEW_SPIN=0.
bool may_spin();
/// Not with less than two processors to run on, or a quota of less: who looks would take the time of
/// the one who is to answer.
bool may_spin(std::size_t processors, std::optional<double> quota);

/// Throws UsageError where SINEW_SPIN or SINEW_WAKE_UP is not what it can be. For those who begin threads,
/// where nobody would catch it.
void check_waiting_settings();

/// Now, on this machine: nothing where it could not be measured in 3 ms.
std::optional<std::chrono::nanoseconds> measure_wake_up();

/// What is kept: "21500 <boot id> <seconds since 1970>". Nothing where that is of another boot of the
/// machine, a day old, or absurd.
std::optional<std::chrono::nanoseconds> wake_up_from_text(std::string const& line,
                                                          std::string const& boot,
                                                          std::int64_t now);
std::string wake_up_text(std::chrono::nanoseconds cost, std::string const& boot, std::int64_t now);

}  // namespace sinew
