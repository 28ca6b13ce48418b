// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace sinew::testing_support {

/// Expects, when it goes out of scope, that nothing remains of the jobs that were run meanwhile: no
/// process (orphans become children of the test, which is a subreaper), no folder that nobody holds,
/// no socket without its folder, no segment or session directory of an MPI. Sinew's folders of this
/// process and of those it starts are made in one of its own (SINEW_TMPDIR); MPI's may be other jobs':
/// what somebody uses is not a leak. It gives things a bounded time to go.
class LeakCheck {
public:
    LeakCheck();
    LeakCheck(LeakCheck const&) = delete;
    LeakCheck& operator=(LeakCheck const&) = delete;
    ~LeakCheck();
    /// Both halves of an agent were killed: the next `sinew run` is what removes the folders.
    void folders_may_stay() { folders_may_stay_ = true; }

private:
    std::set<std::string> before_;
    bool folders_may_stay_ = false;
};

using Seconds = std::chrono::duration<double>;
/// Until `holds()`; false when it does not within the limit.
bool eventually(std::function<bool()> const& holds, Seconds limit = Seconds(15));

/// Folders that this process, and those it started, have made and nobody holds locked.
std::vector<std::string> unheld_folders();

}  // namespace sinew::testing_support
