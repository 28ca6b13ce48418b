// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "launchers/agent/node_job.hpp"
#include "launchers/tree/protocol.hpp"
#include "launchers/tree/router.hpp"
#include "src/base/job_folder.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// The agent of one node: runs this node's part of the job, as the root orders it. Ends its ranks
/// however the root ends.
class Agent {
public:
    /// `progress`: of the job, as an earlier agent of this process knew it.
    Agent(wire::Loop& loop, AgentConfig config, JobFolder const& folder, JobProgress progress = {});
    ~Agent();

    /// Runs until the job is over or lost; returns the exit code.
    int run();
    /// Handles SIGTERM, a planned leave: notifies the root, which ends or restarts the job.
    void leave();
    /// Ends the ranks at once; logs `why` and sends it to the root.
    void give_up(std::string const& why);

    // After run():
    /// It was asked to leave.
    bool left() const { return leaving_; }
    /// The root could not be reached, or its link has ended without an order.
    bool lost_root() const { return lost_root_ && !tree_.refused(); }
    /// The root has refused it for good: another serves the node.
    bool was_refused() const { return tree_.refused(); }
    /// The root had accepted it.
    bool was_attached() const { return tree_.was_attached(); }
    JobProgress const& progress() const { return progress_; }
    Hello const& self() const { return tree_.self(); }

private:
    void handle(Kind kind, std::span<std::byte const> body);
    void handle_mpi(Kind kind, std::span<std::byte const> body);
    void launch(Launch launch);
    void finish();
    void dismiss();
    void finish_step();
    void finish_now();
    void end(int code);
    void tell_failure(std::string const& why);
    void reap_orphans();

    wire::Loop& loop_;
    AgentConfig config_;
    JobFolder const& folder_;
    JobProgress progress_;
    TreeRouter tree_;
    GpuClaims gpus_;  ///< kept from one epoch to the next
    std::unique_ptr<NodeJob> job_;
    wire::Loop::Handle orphans_, leave_timer_;
    bool finishing_now_ = false, leaving_ = false, lost_root_ = false;
    bool dismissed_ = false;  ///< the job goes on: nobody below is waited for
    int code_ = 0;
};

}  // namespace sinew::launch
