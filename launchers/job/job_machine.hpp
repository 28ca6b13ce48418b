// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "launchers/common/job.hpp"
#include "launchers/job/first_cause.hpp"
#include "launchers/job/restart_budget.hpp"
#include "launchers/tree/protocol.hpp"

namespace sinew::launch {

/// What a JobMachine asks about its surroundings.
class JobFacts {
public:
    enum class Output {
        settled,  ///< all is written, or will never be read
        waiting,  ///< some waits for its reader, who may be slow
        failed,   ///< some waits, and earlier output could not be written
    };
    virtual ~JobFacts() = default;
    /// Nodes whose agent is linked to the root.
    virtual std::set<int> const& present_nodes() const = 0;
    /// Whether processes that start agents (`sinew agent` itself, or ssh) still run.
    virtual bool agent_processes_run() const = 0;
    virtual Output output() const = 0;
};

/// The course of one job: starts agents, launches the ranks when all agents have joined, stops and
/// restarts them after a failure, and ends the agents.
///
/// Pure state machine: each call reports an event and returns what to do, in order. An epoch is one
/// launch of all ranks.
class JobMachine {
public:
    struct Settings {
        std::vector<std::string> nodes;  ///< names, by agent
        std::chrono::nanoseconds start_timeout{};
        std::chrono::milliseconds grace{};  ///< between the signal to a rank and SIGKILL
        int max_restarts = 0;
        bool kill_on_failure = true;
        /// Nodes whose agents come by themselves, and are replaced by somebody else when lost.
        std::function<bool(int node)> by_itself = [](int) { return false; };
        std::string root_node = {};  ///< where the root runs; empty: where the user is
    };
    enum class Timer { start, stop, growth, arrival, finish };

    struct StartAgent {  ///< or expect it, if it comes by itself
        int node;
        std::uint32_t incarnation;
    };
    struct LaunchRanks {};  ///< answered by launched() or cannot_launch()
    struct StopRanks {      ///< on all nodes
        Stop how;
    };
    struct FinishAgent {  ///< this node's, which has joined late
        int node;
    };
    struct DismissAgent {  ///< this node's: the job goes on without it
        int node;
    };
    struct FinishAgents {};     ///< all; from now on their links end as they should
    struct EndAgentProcesses {  ///< of a node whose agent is lost
        int node;
    };
    struct SignalAgentProcesses {  ///< those that still run
        int number;
    };
    struct GiveUpOnAbsent {};  ///< starts no more agents, and ends those that have not joined
    struct SetTimer {          ///< replaces the same timer's earlier setting
        Timer timer;
        std::chrono::nanoseconds after;
    };
    struct CancelTimer {
        Timer timer;
    };
    struct Report {  ///< a line for the user
        std::string line;
    };
    struct Mark {  ///< in the timing of the job
        char const* what;
    };
    struct Conclude {};  ///< everything has ended; may be repeated
    struct ExitAtOnce {
        int code;
    };
    using Action =
        std::variant<StartAgent, LaunchRanks, StopRanks, FinishAgent, DismissAgent, FinishAgents,
                     EndAgentProcesses, SignalAgentProcesses, GiveUpOnAbsent, SetTimer, CancelTimer,
                     Report, Mark, Conclude, ExitAtOnce>;
    using Actions = std::vector<Action>;

    /// `facts` must outlive the machine.
    JobMachine(Settings settings, JobFacts const& facts);

    Actions begin();
    Actions timer_fired(Timer timer);

    // Agents.
    /// `past`: how far the job had come, as this agent knows it from another root.
    Actions agent_joined(int node, JobProgress const& past = {});
    /// The link of a node that had joined has ended.
    Actions agent_lost(int node, std::string const& why);
    /// After FinishAgents: a link has ended as it should.
    Actions agent_left();
    /// A process that starts agents has ended. `failure` says how, if its agent had not joined.
    Actions agent_process_ended(std::string const& failure);
    /// The agent reports why its link will end next.
    Actions agent_failing(int node, std::string const& why);
    /// The agent was asked to leave the node, which is nobody's failure.
    Actions agent_leaving(int node);
    /// The agent's last message.
    Actions agent_finished(int node);

    // Ranks.
    /// `agents`: the agent of each node of the map.
    Actions launched(JobMap map, std::vector<int> agents);
    Actions cannot_launch(std::string const& why);
    Actions ranks_started(int node, std::vector<StartedRank> const& report);
    Actions rank_exited(int node, Exited const& exited);
    Actions rank_aborted(Aborted const& aborted);

    /// Other nodes are wanted from now on: the first `names.size()`. Restarts the job on them, those
    /// that are new when they have joined.
    Actions resize(std::vector<std::string> names);

    // Everything else that ends a job.
    Actions interrupted(int signal);
    /// This root is asked to leave, and another will take its place: ends the ranks and the agents
    /// that it has started; those that come by themselves stay. Requires max_restarts > 0.
    Actions hand_over(int signal);
    /// `sinew stop`: SIGTERM and SIGKILL after `grace` (no value: that of the job); with `now`
    /// SIGKILL at once. Repeated, it adds nothing but `now`.
    Actions told_to_stop(std::string const& by, std::optional<std::chrono::milliseconds> grace,
                         bool now);
    Actions timed_out(std::string const& limit);
    Actions output_failed(int error, std::string const& where);
    Actions internal_error(std::string const& what);
    /// The last output that waited was written, or is no longer waited for.
    Actions output_settled();

    /// starting, running, restarting or finishing.
    char const* state() const {
        switch (phase_) {
            case Phase::running:
                if (reported_.size() == agent_of_node_.size()) return "running";
                [[fallthrough]];
            case Phase::starting:
                return restarts() > 0 ? "restarting" : "starting";
            case Phase::stopping:
            case Phase::finishing:
                break;
        }
        return "finishing";
    }
    /// starting, running or ended.
    char const* state_of(int rank) const {
        if (!alive_.contains(rank)) return "ended";
        return pids_.contains(rank) && phase_ != Phase::starting ? "running" : "starting";
    }
    /// 0: it has not started.
    pid_t pid_of(int rank) const {
        auto const pid = pids_.find(rank);
        return pid == pids_.end() ? 0 : pid->second;
    }
    bool running() const { return phase_ == Phase::running; }
    bool finishing() const { return phase_ == Phase::finishing; }
    std::uint32_t epoch() const { return epoch_; }
    /// Of any kind, for SINEW_RESTART.
    int restarts() const { return budget_.restarts(); }
    /// With this epoch.
    JobProgress progress() const { return budget_.progress(epoch_ + 1); }
    /// The nodes on which the next launch takes place, or the last one took place.
    std::set<int> const& members() const { return members_; }
    bool handing_over() const { return handing_over_; }
    JobMap const& map() const { return map_; }
    std::vector<int> const& agents() const { return agent_of_node_; }
    FirstCause const& causes() const { return causes_; }
    int exit_code() const { return code_.value_or(causes_.exit_code()); }
    /// Whoever read our standard output has gone.
    bool reader_gone() const { return reader_gone_; }

private:
    enum class Phase { starting, running, stopping, finishing };

    template <class One>
    void emit(One&& action) {
        actions_.emplace_back(std::forward<One>(action));
    }
    Actions take() { return std::exchange(actions_, {}); }
    bool is_wanted(int node) const { return node < wanted_; }
    bool is_here(int node) const {
        return facts_.present_nodes().contains(node) && !leaving_.contains(node);
    }
    bool all_wanted_present() const;
    bool newcomers_present() const;
    void launch_if_ready();
    void learn(JobProgress const& past);
    void dismiss(int node);
    void start_agent(int node);
    bool lost_before_launch(int node, bool was_leaving);
    void lose_ranks(int node);
    void drop_unwanted();
    void regroup();
    void set_start_timer();
    void start_timed_out();
    void stop_timed_out();
    void finish_timed_out();
    void failed();
    void stop(Stop const& how);
    Stop gently(int signal) const;
    void epoch_over();
    bool restart();
    void finish();
    void finish_step();
    std::vector<int> ranks_on(int node) const;
    FirstCause::Who who(int rank) const;
    std::string const& name(int node) const { return names_.at(static_cast<std::size_t>(node)); }

    Settings const settings_;
    JobFacts const& facts_;
    Actions actions_;

    Phase phase_ = Phase::starting;
    std::vector<std::string> names_;  ///< of all nodes that were ever wanted
    int wanted_ = 0;                  ///< nodes, the first ones
    std::set<int> members_;           ///< they take part; others that are wanted will join
    std::set<int> leaving_;           ///< their agents end, and are still present
    FirstCause causes_;               ///< of this epoch
    std::map<int, std::uint32_t> incarnations_;  ///< of the next agent, by node
    std::uint32_t epoch_ = 0;
    RestartBudget budget_;
    bool planned_ = false;       ///< this epoch ends because an agent leaves
    bool disrupted_ = false;     ///< a node that comes by itself was lost in this epoch
    bool regrouping_ = false;    ///< this epoch ends because other nodes are wanted
    bool cut_short_ = false;     ///< a rank of this epoch has ended because it was told to
    bool launched_ = false;      ///< this root has launched an epoch
    bool handing_over_ = false;  ///< another root will take the place of this one
    int interrupts_ = 0;
    std::optional<int> code_;  ///< of the exit, where it is not the first cause's
    bool reader_gone_ = false;

    JobMap map_;
    std::vector<int> agent_of_node_;
    std::map<int, pid_t> pids_;
    std::set<int> alive_;      ///< ranks that will run or run
    std::set<int> reported_;   ///< nodes that have reported how their ranks started
    std::set<int> finished_;   ///< nodes whose agent sent its last message
    bool terminated_ = false;  ///< agents' processes got SIGTERM, and have a moment left
};

}  // namespace sinew::launch
