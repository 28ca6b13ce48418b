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
    Agent(wire::Loop& loop, AgentConfig config, JobFolder const& folder);
    ~Agent();

    /// Runs until the job is over or lost; returns the exit code.
    int run();
    /// Handles SIGTERM, a planned leave: notifies the root, which ends or restarts the job.
    void leave();
    /// Ends the ranks at once; logs `why` and sends it to the root.
    void give_up(std::string const& why);

private:
    void handle(Kind kind, std::span<std::byte const> body);
    void handle_mpi(Kind kind, std::span<std::byte const> body);
    void launch(Launch launch);
    void finish();
    void finish_step();
    void finish_now();
    void end(int code);
    void tell_failure(std::string const& why);
    void reap_orphans();

    wire::Loop& loop_;
    AgentConfig config_;
    JobFolder const& folder_;
    TreeRouter tree_;
    GpuClaims gpus_;  ///< kept from one epoch to the next
    std::unique_ptr<NodeJob> job_;
    wire::Loop::Handle orphans_, leave_timer_;
    bool finishing_now_ = false, leaving_ = false;
    int code_ = 0;
};

}  // namespace sinew::launch
