// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinew::launch {

/// What a program asks `sinew acquire` for: its first line of standard input.
struct AcquireRequest {
    std::string backend = "local";  ///< local, ssh, docker, slurm, kubernetes, service
    int count = 1;                  ///< of nodes
    std::vector<std::string> hosts;
    std::string launch_agent;          ///< in place of ssh: see fill_template
    std::vector<std::string> command;  ///< the program, in the role of a node agent
    std::string folder;                ///< its working directory
    std::map<std::string, std::string> env;
    int cpu = 0;  ///< of each node; 0: what it has
    std::uint64_t memory_mib = 0;
    int gpu = 0;
    std::string image;
    std::vector<std::string> mounts;  ///< of docker: see parse_bind_mount
    std::string name = "nodes";
    std::chrono::milliseconds time_limit{};  ///< of service: of each job; 0: none
    int priority = 0;                        ///< of service
    bool replace = true;                     ///< nodes that are lost, by new ones
    std::string configuration;               ///< one line for the agents; contains a secret
};

/// A later line.
struct AcquireCommand {
    std::optional<int> count;   ///< of nodes, from now on
    std::optional<std::string>  ///< the agent with this id has joined the program
        joined;
    /// The program has lost the link to this agent, which may still run: it is to be ended.
    std::optional<std::string> lost;
};

/// Both throw UsageError, which does not repeat the line: it contains a secret.
AcquireRequest parse_acquire_request(std::string_view line);
AcquireCommand parse_acquire_command(std::string_view line);

/// The lines that `sinew acquire` writes.
std::string ready_line();
std::string failed_line(std::string const& why);
std::string state_line(std::string const& node, std::string const& state,
                       std::string const& reason);

}  // namespace sinew::launch
