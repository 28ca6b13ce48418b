// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launchers/command_line/options.hpp"
#include "launchers/io/input_source.hpp"
#include "launchers/io/output_printer.hpp"
#include "launchers/io/output_writer.hpp"
#include "launchers/job/agent_processes.hpp"
#include "launchers/job/first_cause.hpp"
#include "launchers/job/names.hpp"
#include "launchers/job/timeline.hpp"
#include "launchers/tree/root.hpp"
#include "src/base/job_folder.hpp"

namespace sinew::launch {

/// One `sinew run`, from the agents' start to the exit code: takes the agents in, maps the ranks,
/// starts them, shows their output, ends or restarts them when one fails, and leaves nothing behind.
class JobRun {
public:
    explicit JobRun(RunOptions options);
    ~JobRun();
    int run();

private:
    enum class Phase { starting, running, stopping, finishing };

    // Getting there.
    void run_loop();
    wire::Address listen_address() const;
    std::vector<std::string> root_addresses() const;
    void start_agents();
    void expect_agents();
    void start_agent(int node);
    void on_joined(int node);
    void launch();
    Launch order(JobMap map);
    void on_started(int node, std::vector<StartedRank> const& report);

    // What agents say.
    void on_message(int node, Kind kind, std::span<std::byte const> body);
    void on_output(int node, std::span<std::byte const> body);
    /// The first of some writes that failed.
    struct WriteFailure {
        int error = 0;  ///< 0: none failed
        std::string where;
    };
    using AllWritten = std::function<void(WriteFailure const&)>;
    void write(std::vector<OutputWrite> writes, AllWritten written);
    void on_written(int node, std::int64_t bytes, WriteFailure const& failure);
    void output_failed(WriteFailure const& failure);
    void on_exited(int node, Exited const& exited);
    void on_abort(Aborted const& aborted);
    void on_leaving(int node);
    void on_modex(int node, Kind kind, std::span<std::byte const> body);
    void on_lost(int node, std::string const& why);
    void on_agent_ended(int node, AgentProcesses::End const& end);
    void on_input(std::string bytes);
    void ask_input();

    // Getting out.
    void on_signal(int number);
    void interrupt(int number);
    void stop(Stop const& how);
    /// Something has gone wrong: this epoch ends. Not for a rank's own failure under --no-kill.
    void failed();
    void epoch_over();
    bool restart();
    void finish();
    void finish_step();
    void conclude();
    void say_closing_words();
    void stop_when_written();
    std::string closing_words();
    void watch_reader();
    [[noreturn]] void leave_output_behind();

    Stop gently(int signal) const;
    FirstCause::Who who(int rank) const;
    void notice(std::string const& line, int verbosity = 0);
    std::string node_name(int node) const { return nodes_.at(node).name; }
    int map_node(int node) const;
    std::vector<int> ranks_on(int node) const;

    RunOptions options_;
    std::unique_ptr<Backend> backend_;
    std::vector<Node> nodes_;  ///< by agent
    std::string job_;
    wire::Secret secret_ = wire::Secret::random();
    std::optional<JobFolder> folder_;
    wire::Loop loop_;
    OutputWriter writer_;
    OutputPrinter printer_;
    Timeline timeline_;
    FirstCause causes_;
    Names names_;
    std::unique_ptr<Root> root_;
    std::unique_ptr<AgentProcesses> agents_;
    std::unique_ptr<InputSource> input_;
    std::vector<wire::Loop::Handle> timers_;
    wire::Loop::Handle start_timer_, stop_timer_, finish_timer_, reader_timer_;

    Phase phase_ = Phase::starting;
    std::uint32_t epoch_ = 0;
    std::map<int, std::uint32_t> incarnations_;
    int restarts_ = 0;      ///< of any kind, for SINEW_RESTART
    int failures_ = 0;      ///< restarts that count against --max-restarts
    bool planned_ = false;  ///< this epoch ends by a planned leave
    int interrupts_ = 0;
    JobMap map_;
    std::vector<int> agent_of_node_;
    std::map<int, pid_t> pids_;
    std::optional<int> code_;  ///< of the exit, where it is not the first cause's
    std::set<int> alive_;      ///< ranks that are to run or run
    std::set<int> reported_;   ///< nodes that have said how their ranks started
    std::set<int> byes_;
    std::int64_t input_under_way_ = 0;
    std::map<int, std::int64_t> input_left_;  ///< by agent
    bool input_ended_ = false, output_broken_ = false;
    std::map<int, std::int64_t> unwritten_;  ///< bytes of output, by agent
    bool output_unread_ = false;             ///< --timeout has passed, and nobody reads it
    bool concluded_ = false;                 ///< the closing words are written, or being written
};

}  // namespace sinew::launch
