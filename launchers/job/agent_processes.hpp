// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "launchers/backends/backend.hpp"
#include "launchers/io/lines.hpp"
#include "src/base/system/spawn.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// The processes by which a backend starts agents: `sinew agent` itself, or ssh and its like. Starts
/// them, a window at a time, hands each its configuration on standard input, shows what they say.
class AgentProcesses {
public:
    struct End {
        int code = 0;
        int signal = 0;        ///< 0: by exit
        bool awaited = false;  ///< its agent had not arrived
        std::string words;     ///< the last it said
    };
    struct Callbacks {
        std::function<void(int node, End const& end)> ended;
        /// A line an agent (or ssh) has written, for the user; no newline.
        std::function<void(int node, std::string const& line)> said;
    };

    AgentProcesses(wire::Loop& loop, Backend const& backend, Callbacks callbacks);
    ~AgentProcesses();

    void start(AgentStart start);
    /// This one is on its way no more: the next may start.
    void arrived(int node);
    bool running() const { return !running_.empty(); }
    /// To those that are still there.
    void signal(int number);
    /// To those of one node, whose agent is lost: what is stopped or cut off has to end, too.
    void end(int node);
    /// No more are started, and those that have not arrived are told to end.
    void give_up_on_absent();

private:
    struct Running {
        int node = 0;
        UniqueFd ended, words_from;
        wire::Loop::Handle ended_watch, words_watch;
        LineAssembler lines;
        std::string last;
        std::vector<std::string> held;  ///< said by the agent itself before it has arrived
    };
    void start_next();
    void run(AgentStart const& start);
    std::size_t on_words(pid_t pid);
    void on_ended(pid_t pid);

    wire::Loop& loop_;
    Backend const& backend_;
    Callbacks callbacks_;
    std::deque<AgentStart> waiting_;
    std::map<int, pid_t> on_the_way_;   ///< by node; 0: cannot be started
    std::map<pid_t, Running> running_;  ///< of a node that was lost, two for a while
};

}  // namespace sinew::launch
