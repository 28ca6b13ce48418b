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

/// How to start one agent: it reads its configuration from standard input and needs nothing else.
struct AgentStart {
    int node = 0;
    std::string host;           ///< where; the backend knows what that means
    std::string configuration;  ///< one line of JSON with the secret in it: for its stdin only
};

/// What a backend's process of an agent looks like from here: the agent itself, or ssh.
struct AgentProcess {
    std::vector<std::string> argv;  ///< looked up in PATH; must hold nothing secret
};

/// Starts agents somewhere: one file each. The agents call back by themselves; a backend that runs
/// a program for each (`sinew agent` here, `ssh host sinew agent` there) only says which.
class Backend {
public:
    virtual ~Backend() = default;
    virtual std::string_view name() const = 0;
    /// How many may be on their way at once.
    virtual int window() const = 0;
    /// Whether agents reach the root by a Unix socket of this host; else by TCP.
    virtual bool on_this_host() const = 0;
    virtual AgentProcess command(AgentStart const& start) const = 0;
    /// A remedy for an agent that could not be started, from its exit code and last words.
    virtual std::string explain(int exit_code, std::string_view words) const = 0;
};

/// A row of the table of backends: also those that cannot be used here, with the reason.
struct BackendEntry {
    std::string_view name;
    std::string_view suits;
    /// Empty: usable.
    std::string (*unusable)(RunOptions const&);
    std::unique_ptr<Backend> (*make)(RunOptions const&);
};

std::vector<BackendEntry> const& backends();
/// The one asked for, or the first that suits. Throws UsageError naming those there are.
std::unique_ptr<Backend> choose_backend(RunOptions const& options);

}  // namespace sinew::launch
