// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sinew::bench {

/// Measures what it costs that one thread gives its processor to another: two threads on the
/// caller's processor yield to each other. In nanoseconds; 0 if threads cannot be bound. Takes some
/// milliseconds, and does not change where the caller runs.
double measure_context_switch();

}  // namespace sinew::bench
