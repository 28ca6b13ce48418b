// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <sinew/meta.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinew::nodes {

/// What the agent of an acquired node is told: one line of JSON, by its standard input or a file.
struct AgentConfig {
    std::string session;                 ///< the secret, in hex
    std::vector<std::string> addresses;  ///< of the process that acquires the node
    std::string master;                  ///< its name for messages: "pid 4711 on laptop"
    std::vector<std::string> env;        ///< "NAME=value"
    Meta meta;                           ///< resources of the node; 0: what it has
    /// GPUs of this host that the nodes on it divide among them, by SINEW_NODE_INDEX; empty: each
    /// has those that it sees.
    std::vector<std::string> gpus = {};
};

std::string config_line(AgentConfig const& config);
/// Throws UsageError, which does not repeat the line: it contains a secret.
AgentConfig parse_config(std::string_view line);

/// The first message of an agent, with the resources that it found.
struct JoinMessage {
    std::string id;       ///< the backend's name for this node: SINEW_NODE_ID
    std::string host;     ///< its host's name
    std::string program;  ///< detail::program_identity().text
    int cores = 1;
    int gpus = 0;
    std::uint64_t memory_mib = 0;
};
std::vector<std::byte> encode_join(JoinMessage const& message);
/// Throws DecodeError.
JoinMessage decode_join(std::span<std::byte const> bytes);

}  // namespace sinew::nodes
