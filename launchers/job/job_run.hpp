// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launchers/command_line/options.hpp"
#include "launchers/common/job_timing.hpp"
#include "launchers/control/control_server.hpp"
#include "launchers/job/agent_processes.hpp"
#include "launchers/job/claimed_name.hpp"
#include "launchers/job/input_forwarder.hpp"
#include "launchers/job/job_dashboard.hpp"
#include "launchers/job/job_machine.hpp"
#include "launchers/job/names.hpp"
#include "launchers/job/output_forwarder.hpp"
#include "launchers/job/root_address.hpp"
#include "launchers/tree/root.hpp"
#include "src/base/job_folder.hpp"

namespace sinew::launch {

/// One `sinew run`, from the start of the agents to the exit code. Brings events to the JobMachine
/// and carries out its actions; forwards what agents send each other, and the ranks' input and
/// output.
class JobRun final : private JobFacts {
public:
    /// What somebody else has arranged for a job whose agents come by themselves.
    struct Arranged {
        std::unique_ptr<Backend> backend;
        std::string job;  ///< its name
        wire::Secret secret;
        std::uint16_t port = 0;   ///< of the root, on all addresses of this host
        std::string address;      ///< of this host, for the other nodes
        int first_nodes = 0;      ///< the number of nodes for which -n was meant
        std::vector<Node> nodes;  ///< the present ones
        /// The number of nodes wanted, asked each second; nothing: as before.
        std::function<std::optional<int>()> wanted;
        std::function<Node(int index)> node;  ///< of a node that is wanted later
    };

    explicit JobRun(RunOptions options);
    JobRun(RunOptions options, Arranged arranged);
    ~JobRun() override;
    /// Returns the exit code. Does not return if output is left that nobody reads, or at the third
    /// interrupt: the process exits then.
    int run();
    /// After run(): this root was asked to leave, and another may go on with the job.
    bool handed_over() const { return machine_.handing_over(); }

private:
    std::set<int> const& present_nodes() const override { return root_->present_nodes(); }
    bool agent_processes_run() const override { return agents_->running(); }
    Output output() const override { return output_.state(); }

    void open_control();
    void open_dashboard();
    JobSummary summary() const;
    void open_root();
    RootPlace root_place() const;
    void run_loop();

    /// Carries out actions, and those that follow from them, in order.
    void perform(JobMachine::Actions actions);
    void act(JobMachine::StartAgent const& action);
    void act(JobMachine::LaunchRanks const& action);
    void act(JobMachine::StopRanks const& action);
    void act(JobMachine::FinishAgent const& action);
    void act(JobMachine::DismissAgent const& action);
    void act(JobMachine::FinishAgents const& action);
    void act(JobMachine::EndAgentProcesses const& action);
    void act(JobMachine::SignalAgentProcesses const& action);
    void act(JobMachine::GiveUpOnAbsent const& action);
    void act(JobMachine::SetTimer const& action);
    void act(JobMachine::CancelTimer const& action);
    void act(JobMachine::Report const& action);
    void act(JobMachine::Mark const& action);
    void act(JobMachine::Conclude const& action);
    [[noreturn]] void act(JobMachine::ExitAtOnce const& action);

    void look_for_changes();
    std::vector<Node> members() const;
    void launch();
    Launch order() const;
    void on_joined(int node);
    void on_message(int node, Kind kind, std::span<std::byte const> body);
    void on_modex(int node, Kind kind, std::span<std::byte const> body);
    void on_agent_process_ended(int node, AgentProcesses::End const& end);
    void on_signal(int number);
    void on_output_settled();
    void stop_when_written();
    std::string closing_lines() const;
    void write_summary(int exit_code) const;
    [[noreturn]] void leave_output_behind();
    /// Removes the job's folders, after the objects whose sockets lie in them.
    void remove_folders();
    void notice(std::string const& line, int verbosity = 0);

    RunOptions options_;
    Arranged arranged_;
    std::unique_ptr<Backend> backend_;
    std::vector<Node> nodes_;  ///< by agent; all that were ever wanted
    std::string job_;
    wire::Secret secret_;
    std::optional<JobFolder> folder_;
    ClaimedName name_;
    std::chrono::system_clock::time_point started_ = std::chrono::system_clock::now();
    wire::Loop loop_;
    OutputForwarder output_;
    InputForwarder input_;
    JobTiming timing_;
    Names names_;
    JobMachine machine_;
    std::deque<JobMachine::Action> actions_;
    bool performing_ = false;
    std::optional<ControlServer> control_;
    std::optional<JobDashboard> dashboard_;
    std::unique_ptr<Root> root_;
    std::unique_ptr<AgentProcesses> agents_;
    std::map<JobMachine::Timer, wire::Loop::Handle> timers_;
    wire::Loop::Handle timeout_, stop_self_, changes_;
    std::optional<int> wanted_;  ///< the number of nodes that was asked for last
    std::string shown_map_;      ///< by --report-map
    bool concluded_ = false;     ///< the closing lines are written, or being written
};

}  // namespace sinew::launch
