// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "src/base/system/unique_fd.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::pool {

/// The way to a dashboard, for lines of a pool's figures: to that of the job (`sinew run
/// --dashboard`, by SINEW_DASHBOARD_SOCKET), or to one of this process (SINEW_DASHBOARD=1, or a
/// port), which is a child of it. Never waits. Requires: the runtime's guard held.
class DashboardChannel {
public:
    /// Null if no dashboard is wanted, or if it cannot be reached, which is logged. A process has
    /// one dashboard of its own for all its pools; children of a process of sinew have none.
    static std::shared_ptr<DashboardChannel> open(wire::Loop& loop);

    DashboardChannel() = default;
    DashboardChannel(DashboardChannel const&) = delete;

    /// Whether a line would be taken now: the one before has been sent.
    bool free();
    /// Requires: free(). What does not fit into the socket is sent later.
    void send(std::string line);
    /// For the last line of a pool: sends it behind one that is under way.
    void send_last(std::string line);
    bool over() const { return !fd_; }

private:
    static std::shared_ptr<DashboardChannel> of_job(std::string const& path);
    static std::shared_ptr<DashboardChannel> of_process(wire::Loop& loop, std::string const& port);
    void flush();

    UniqueFd fd_;
    std::string unsent_;
    pid_t child_ = 0;
    UniqueFd ended_;
    wire::Loop::Handle ending_;
};

}  // namespace sinew::pool
