// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sinew/error.hpp>
#include <sinew/wait.hpp>

#include "src/base/waiting/polling_pause.hpp"
#include "src/process/rpc/messenger.hpp"

namespace sinew::detail {
namespace {

using Clock = std::chrono::steady_clock;

// The interval between polls in a wait for both polled results and results of the runtime.
constexpr auto between_polls = std::chrono::microseconds(100);

bool wait_at_runtime(std::function<bool()> const& ready, Deadline deadline) {
    auto& messenger = process::Messenger::instance();
    auto lock = messenger.lock();
    return messenger.wait_for_any(lock, deadline, ready);
}

}  // namespace

bool wait_until_ready(std::function<bool()> const& ready, bool polled, bool others,
                      Deadline deadline) {
    if (!polled) return wait_at_runtime(ready, deadline);
    while (!ready()) {
        auto const now = Clock::now();
        if (now >= deadline) return false;
        // `ready` also polls, which must not happen with the guard held: not called here.
        if (others) wait_at_runtime([] { return false; }, std::min(deadline, now + between_polls));
        else pause_between_polls();
    }
    return true;
}

void refuse_empty_wait() {
    throw UsageError(
        "wait_any of no results (it would wait for ever). Check first that there are some");
}

}  // namespace sinew::detail
