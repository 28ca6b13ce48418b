// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace sinew::testing_support {

/// The destructor expects that nothing remains of the jobs that were run meanwhile: no process
/// (orphans become children of the test, which is a subreaper), no unlocked folder, no socket
/// without its folder, no segment or session directory of an MPI. Sinew's folders of this process
/// and its children are in a separate base (SINEW_TMPDIR). MPI's may belong to other jobs: what is
/// in use is not a leak. Waits for a bounded time.
class LeakCheck {
public:
    LeakCheck();
    LeakCheck(LeakCheck const&) = delete;
    LeakCheck& operator=(LeakCheck const&) = delete;
    ~LeakCheck();
    /// Both halves of an agent were killed: the next `sinew run` removes the folders.
    void folders_may_stay() { folders_may_stay_ = true; }

private:
    std::set<std::string> before_;
    bool folders_may_stay_ = false;
};

using Seconds = std::chrono::duration<double>;
/// Waits until `holds()`; returns false at the limit.
bool eventually(std::function<bool()> const& holds, Seconds limit = Seconds(40));

/// Folders that this process and its children have made and that are not locked.
std::vector<std::string> unheld_folders();

}  // namespace sinew::testing_support
