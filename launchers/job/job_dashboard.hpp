// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "launchers/common/job.hpp"
#include "launchers/dashboard/dashboard.hpp"
#include "launchers/dashboard/operation_report.hpp"
#include "launchers/dashboard/pool_reports.hpp"
#include "launchers/tree/protocol.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// Shows one `sinew run` on a dashboard: what happens to its ranks and nodes, its output, and what
/// its programs report about their pools. On the job's loop; changes are passed on a few times a
/// second.
class JobDashboard {
public:
    struct Callbacks {
        std::function<dashboard::Job()> job;   ///< as it is now; asked a few times a second
        std::function<void(int agent)> taken;  ///< the agent may send its next report
    };
    JobDashboard(wire::Loop& loop, dashboard::Settings const& settings, Callbacks callbacks);

    std::string address() const { return dashboard_.address(); }

    /// An epoch begins. `agents`: the agent of each node of the map; `hosts`: where each runs.
    void launched(JobMap const& map, std::vector<int> const& agents,
                  std::vector<std::string> const& hosts);
    void started(std::vector<StartedRank> const& report);
    void exited(Exited const& exited);
    void agent_joined(std::string const& node, std::string const& host);
    void agent_lost(int agent, std::string const& name, std::string const& why);
    void output(int rank, int stream, std::string_view bytes);
    /// A line of the launcher for the user.
    void notice(std::string const& line);
    /// A message of kind `report` of an agent's.
    void report(int agent, std::string const& node, ReportHead const& head, std::string_view line);
    /// The job is over: shows that to those who look, and ends the dashboard.
    void finish(int exit_code);

private:
    void publish();
    void take(std::string const& node, ReportHead const& head, std::string_view line);
    void take(dashboard::OperationReport report);
    void event(dashboard::Level level, std::string text);

    dashboard::Dashboard dashboard_;
    dashboard::PoolReports pools_;
    wire::Loop& loop_;
    Callbacks const callbacks_;
    std::vector<dashboard::Node> nodes_;
    std::vector<dashboard::Rank> ranks_;
    std::vector<int> agents_;  ///< by node
    bool changed_ = false;     ///< ranks or nodes, since they were published
    int epochs_ = 0;
    std::string shown_state_;
    std::map<int, wire::Loop::Handle> pauses_;  ///< before an agent's next report
    wire::Loop::Handle publishing_;
};

}  // namespace sinew::launch
