// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <sinew/error.hpp>

namespace sinew {

/// A wait ended because the program's interrupt check asked for it.
class Interrupted : public Error {
public:
    using Error::Error;
};

/// How often a thread that waits in a blocking call consults the check. It may have to take a lock of
/// the program (an interpreter's), so it is asked seldom.
inline constexpr std::chrono::milliseconds interrupt_check_interval{100};

/// Sets the function that says whether the program wants its blocking calls to end: `check(context)`
/// returns other than 0. Null: they are never interrupted. Called by threads that wait, never by the
/// library's own. To be set while no other thread is in a call.
void set_interrupt_check(int (*check)(void*), void* context);

/// Returns whether there is a check.
bool has_interrupt_check();
/// Asks the check; false if there is none.
bool interrupted();

}  // namespace sinew
