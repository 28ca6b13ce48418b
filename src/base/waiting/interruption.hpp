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

/// How often a thread that waits in a blocking call consults the check. The check may have to take a
/// lock of the program (an interpreter's), so it is consulted seldom.
inline constexpr std::chrono::milliseconds interrupt_check_interval{100};

/// Sets the function that says whether the program wants its blocking calls to end: `check(context)`
/// returns other than 0. It is called by the thread that has set it, while that thread waits in a
/// blocking call, and by no other. Null: calls are not interrupted. To be set while that thread is in
/// no call.
void set_interrupt_check(int (*check)(void*), void* context);

/// Returns whether the calling thread has a check.
bool has_interrupt_check();
/// Asks the calling thread's check; false if it has none.
bool interrupted();

}  // namespace sinew
