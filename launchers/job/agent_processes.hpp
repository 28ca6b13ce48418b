// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "launchers/backends/backend.hpp"
#include "launchers/io/lines.hpp"
#include "src/base/system/spawn.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// The processes that start agents: `sinew agent` itself, or ssh and the like. Starts a limited
/// number at a time, passes each its configuration on standard input, and reports what they print.
class AgentProcesses {
public:
    struct End {
        int code = 0;
        int signal = 0;        ///< 0: it exited with `code`
        bool awaited = false;  ///< the agent had not connected yet
        std::string words;     ///< the last line it printed
    };
    struct Callbacks {
        std::function<void(int node, End const& end)> ended;
        /// Called for each line that an agent (or ssh) prints for the user; without newline. `node`
        /// is -1 if the process has started several.
        std::function<void(int node, std::string const& line)> said;
    };

    AgentProcesses(wire::Loop& loop, Backend const& backend, Callbacks callbacks);
    ~AgentProcesses();

    void start(AgentStart start);
    /// Reports that the agent of `node` has connected: the next one may be started.
    void arrived(int node);
    bool running() const { return !running_.empty(); }
    /// Sends a signal, and SIGCONT, to all processes that are running.
    void signal(int number);
    /// Sends SIGTERM to the processes of a lost node, which may be stopped or cut off.
    void end(int node);
    /// Starts no further agents, and sends SIGTERM to those that have not connected.
    void give_up_on_absent();

private:
    struct Running {
        std::set<int> nodes;   ///< whose agents it has started, without those that are lost
        int first = 0;         ///< the first of them
        bool several = false;  ///< it has started more than one
        int said_by() const { return several ? -1 : first; }
        UniqueFd ended, words_from;
        wire::Loop::Handle ended_watch, words_watch;
        LineAssembler lines;
        std::string last;
        std::vector<std::string> held;  ///< printed by the agent before it connected
    };
    void start_next();
    void run(std::vector<AgentStart> const& starts);
    bool is_awaited(pid_t pid, Running const& process) const;
    void could_not_start(std::vector<AgentStart> const& starts, End const& end);
    std::size_t on_words(pid_t pid);
    void on_ended(pid_t pid);

    wire::Loop& loop_;
    Backend const& backend_;
    Callbacks callbacks_;
    std::deque<AgentStart> waiting_;
    std::map<int, pid_t> on_the_way_;   ///< by node; 0: could not be started
    std::map<pid_t, Running> running_;  ///< a lost node may have two for a while
    bool gathering_ = false;            ///< further agents may be started together with these
};

}  // namespace sinew::launch
