// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <sinew/nodes.hpp>
#include <string>
#include <string_view>

namespace sinew::nodes {

// What this process and the command `sinew acquire` tell each other: lines of JSON.

/// The first line to it. `program`: the path of this program. `configuration`: one line for the
/// node agents, with the session's secret.
std::string request_line(NodesOptions const& options, std::string const& backend,
                         std::string const& program, std::string const& configuration);
std::string count_line(int count);
/// The agent with this id has joined; has been lost by us, and may still run.
std::string joined_line(std::string const& id);
std::string lost_line(std::string const& id);

/// What it reports.
struct BackendEvent {
    enum class Kind : std::uint8_t {
        ready,   ///< the backend has accepted the request
        state,   ///< of one node
        failed,  ///< no more nodes will come; `text` says why
    };
    enum class State : std::uint8_t {
        waiting,  ///< for a place; `text` says what for
        pulling,  ///< its image or program is being fetched
        running,
        failed,  ///< its agent has ended, or could not start; its children may still run
        gone,    ///< its agent and all processes it had started have certainly ended
    };
    Kind kind = Kind::ready;
    std::string node = {};  ///< unique: a node that replaces another has another name
    State state = State::waiting;
    std::string text = {};
};
/// Throws DecodeError, which contains the line.
BackendEvent parse_event(std::string_view line);

}  // namespace sinew::nodes
