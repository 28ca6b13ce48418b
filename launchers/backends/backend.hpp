// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// The local process that starts an agent: the agent itself, or ssh.
struct AgentProcess {
    std::vector<std::string> argv;  ///< argv[0] is looked up in PATH; must not contain secrets
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
    virtual AgentProcess command(AgentStart const& start) const = 0;
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
};

std::vector<BackendEntry> const& backends();
/// Returns the row of the backend asked for, or of the first suitable one. Throws UsageError, which
/// lists the backends, if there is none, or if options are for another.
BackendEntry const& choose_entry(RunOptions const& options);
/// Makes that backend. Requires: its jobs have their root here.
std::unique_ptr<Backend> choose_backend(RunOptions const& options);

}  // namespace sinew::launch
