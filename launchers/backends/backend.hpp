// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launchers/common/job.hpp"

namespace sinew::launch {

struct RunOptions;

/// How to start one agent. The agent reads its configuration from standard input, nothing else.
struct AgentStart {
    int node = 0;
    std::string host;           ///< the node's name; only the backend interprets it
    std::string configuration;  ///< one line of JSON with the secret; only for its stdin
};

/// The local process that starts an agent, or several: the agent itself, ssh, srun.
struct AgentProcess {
    std::vector<std::string> argv;  ///< argv[0] is looked up in PATH; must not contain secrets
    /// Sent to it when this process ends; 0: its agents notice that, and it ends with them.
    int death_signal = SIGTERM;
};

/// Starts agents on a kind of hosts; each backend is one file. The agents connect back to the root
/// by themselves. A backend only names the program to run (`sinew agent` or ssh).
class Backend {
public:
    virtual ~Backend() = default;
    virtual std::string_view name() const = 0;
    /// The maximum number of agents that start at the same time.
    virtual int window() const = 0;
    /// Whether agents reach the root through a Unix socket on this host; otherwise they use TCP.
    virtual bool on_this_host() const = 0;
    /// Whether this node's agent comes by itself, and another after each loss: its host starts it,
    /// with the job's secret and the root's address. It has an environment of its own. Nothing is
    /// started for it then.
    virtual bool comes_by_itself(int /*node*/) const { return false; }
    /// Called once, before an agent is started, with the job's name. May take long and say so, on
    /// standard error. Throws Error if no agent can be started.
    virtual void prepare(std::string const& /*job*/) {}
    /// Further addresses by which agents may reach this host, tried first. After prepare().
    virtual std::vector<std::string> root_hosts() const { return {}; }
    /// Whether programs and libraries are where they are here, so that ranks get PATH and the like.
    virtual bool has_our_files() const { return true; }
    /// Whether this folder of this host is there, too, if there is one of its name.
    virtual bool shares_folder(std::string const& /*folder*/) const { return true; }
    virtual AgentProcess command(AgentStart const& start) const = 0;
    /// Whether one process starts all agents that are wanted at the same time; window() does not
    /// count then. Each agent finds its part of the configuration by the name of its host, which is
    /// in this variable of its environment. Empty: a process for each agent.
    virtual std::string_view host_variable() const { return {}; }
    /// That process. Requires: host_variable() is not empty.
    virtual AgentProcess command_of_all(std::vector<AgentStart> const& starts) const {
        return command(starts.front());
    }
    /// Asks the batch system whether it has told this job to end, and why: a line for the user;
    /// empty: it has not. Takes 2 s at most.
    virtual std::string why_told_to_end() const { return {}; }
    /// Whether a line of its standard error is of no use to the user.
    virtual bool is_noise(std::string_view /*line*/) const { return false; }
    /// Suggests a remedy for an agent that failed to start, from its exit code and last output.
    virtual std::string explain(int exit_code, std::string_view words) const = 0;
};

/// A row of the table of backends, which also lists unusable ones with the reason.
struct BackendEntry {
    std::string_view name;
    std::string_view suits;
    /// Returns the reason why the backend is unusable, or an empty string if it is usable.
    std::string (*unusable)(RunOptions const&);
    /// Null if jobs run wholly elsewhere.
    std::unique_ptr<Backend> (*make)(RunOptions const&);
    /// Runs a job wholly elsewhere and returns its exit code; shows what that would do (--dry-run).
    int (*run)(RunOptions const&) = nullptr;
    int (*plan)(RunOptions const&) = nullptr;

    /// Whether this job runs wholly elsewhere. A backend that has both has hosts if its root is here.
    bool runs_elsewhere(RunOptions const& options) const;
};

std::vector<BackendEntry> const& backends();
/// Returns the row of the backend asked for, or of the first suitable one. Throws UsageError, which
/// lists the backends, if there is none, or if options are for another.
BackendEntry const& choose_entry(RunOptions const& options);
/// Makes that backend. Requires: its jobs have their root here.
std::unique_ptr<Backend> choose_backend(RunOptions const& options);

}  // namespace sinew::launch
