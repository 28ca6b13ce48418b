// SPDX-License-Identifier: Apache-2.0
#include "launchers/backends/slurm.hpp"

#include <cstdlib>

#include "launchers/command_line/options.hpp"
#include "launchers/common/own_path.hpp"
#include "launchers/program/program_kind.hpp"
#include "launchers/slurm/in_job.hpp"
#include "launchers/slurm/job_state.hpp"
#include "launchers/slurm/submission.hpp"
#include "src/base/env.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

// The GPUs of each node for its agent, if the job has some for each task: Slurm would give the agent,
// which is one task, those of one. Empty: all of the node's, or not known.
std::string gpus_of_nodes(RunOptions const& options) {
    auto const each = env("SLURM_GPUS_PER_TASK").value_or("");
    if (options.hosts_from.empty() || options.hosts.empty() || each.empty() || each.size() > 4 ||
        each.find_first_not_of("0123456789") != std::string::npos)
        return {};
    int const slots = options.hosts.front().slots;
    for (auto const& host : options.hosts)
        if (host.slots != slots || slots == 0) return {};
    return std::to_string(slots * std::stoi(each));
}

class Slurm final : public Backend {
public:
    explicit Slurm(RunOptions const& options)
        : gpus_(gpus_of_nodes(options)), restarts_(options.max_restarts > 0),
          early_signal_(slurm::early_signal(options)) {}

    std::string_view name() const override { return "slurm"; }
    int window() const override { return 64; }
    bool on_this_host() const override { return false; }
    std::string_view host_variable() const override { return "SLURMD_NODENAME"; }

    AgentProcess command(AgentStart const& start) const override { return command_of_all({start}); }

    AgentProcess command_of_all(std::vector<AgentStart> const& starts) const override {
        std::vector<std::string> hosts;
        for (auto const& start : starts) hosts.push_back(start.host);
        // The agents bind the ranks. srun forwards its standard input, which has the configuration.
        auto words = slurm::step_words(hosts);
        for (auto const* word : {"--input=all", "--wait=0", "--quit-on-interrupt"})
            words.emplace_back(word);
        if (!gpus_.empty()) words.push_back("--gpus-per-node=" + gpus_);
        // Ranks see it as SLURM_JOB_NAME.
        words.push_back("--job-name=" + env("SLURM_JOB_NAME").value_or("sinew"));
        words.push_back(text("--kill-on-bad-exit=", restarts_ ? 0 : 1));
        for (auto& word : slurm::sinew_words({"agent"})) words.push_back(std::move(word));
        // At SIGTERM srun kills all agents, which could not clean up; without `sinew run` they end
        // by themselves, and it with them.
        return {.argv = std::move(words), .death_signal = 0};
    }

    // srun says so in clusters without a plugin for binding, where nothing needs to be prevented.
    bool is_noise(std::string_view line) const override {
        return line == "srun: cluster configuration lacks support for cpu binding";
    }

    std::string explain(int exit_code, std::string_view words) const override {
        auto const says = [&](char const* what) { return words.find(what) != words.npos; };
        if (says("cannot reach sinew run"))  // printed by the agent, so srun has worked
            return "Name an address of this host that the other can reach by --root-address, and "
                   "check that no firewall is between them";
        if (says("cannot be executed")) return "Debian: apt-get install slurm-client";
        if (says("nvalid job id") || says("already completing") || says("has expired"))
            return "The allocation is over: see squeue --me";
        if (says("odes are busy") || says("not available") || says("not in this job"))
            return "Slurm refuses the step: see scontrol show job, and whether the hosts of -H "
                   "belong to the job";
        if (exit_code == 127 || says("No such file") || says("not found"))
            return "Install sinew on the nodes, in PATH or where it is here";
        return "Try srun --overlap hostname in the allocation; --backend ssh uses ssh instead";
    }

    std::string why_told_to_end() const override {
        auto const id = env("SLURM_JOB_ID");
        if (!id) return {};
        auto const job = slurm::query(*id);
        auto const why = job ? slurm::explain_signal(*job, early_signal_) : std::string();
        return why.empty() ? "" : text("sinew: ", why, "\n");
    }

private:
    std::string const gpus_;
    bool const restarts_;  ///< when an agent is lost, the others must live
    std::optional<std::chrono::seconds> const early_signal_;
};

}  // namespace

std::unique_ptr<Backend> make_slurm(RunOptions const& options) {
    return std::make_unique<Slurm>(options);
}

std::string slurm_unusable(RunOptions const& options) {
    if (!options.launch_agent.empty()) return "agents are started by srun, not by --launch-agent";
    if (options.fake_nodes > 0) return "--fake-nodes is for this host";
    if (options.hosts.empty() && env("SINEW_RANK"))
        return "this process is a rank of sinew run, which has divided the allocation already";
    bool const inside = env("SLURM_JOB_ID").has_value();
    if (!options.hosts.empty() && options.hosts_from.empty() && !inside)
        return "Slurm chooses the hosts. Say --slurm-arg=--nodelist=HOSTS instead of -H or "
               "--hostfile";
    if (options.by_srun) return {};
    char const* const path = ::getenv("PATH");
    std::string const needed = options.hosts.empty() && !options.slurm.native ? "sbatch" : "srun";
    if (find_program(needed, "", path != nullptr ? path : "").error != 0)
        return text("there is no ", needed, " in PATH. Debian: apt-get install slurm-client");
    return {};
}

}  // namespace sinew::launch
