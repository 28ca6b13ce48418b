// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "launchers/agent/agent.hpp"
#include "launchers/command_line/options.hpp"
#include "launchers/pods/pod_config.hpp"
#include "launchers/pods/pod_identity.hpp"
#include "src/base/job_folder.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// The agent of a pod, which comes by itself. When the root is lost its ranks end, and if the job
/// may be restarted, or has not begun, a new agent waits for the next root. On one thread.
class PodAgent {
public:
    /// The folder must outlive this object.
    PodAgent(PodConfig const& config, PodIdentity const& identity, RunOptions const& options,
             JobFolder& folder);

    /// Returns the exit code of the container, see pod_main().
    int run();

private:
    enum class Then { again, over };
    Then serve(int& code);
    void on_signal(int number);

    /// Sets the addresses of the root, and how long to try them.
    void aim();

    AgentConfig config_;
    std::vector<std::string> const roots_;  ///< as the pod was told
    std::string const
        asks_for_;  ///< the job whose root the API server is asked for; empty: no need
    std::uint16_t const port_;
    std::chrono::milliseconds const patience_;
    bool const may_restart_;
    JobFolder& folder_;
    wire::Loop loop_;
    std::unique_ptr<Agent> agent_;
    JobProgress progress_;
    wire::Clock::time_point until_;  ///< for the next root
};

}  // namespace sinew::launch
