// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "launchers/acquire/node_provider.hpp"
#include "launchers/io/lines.hpp"
#include "src/base/system/unique_fd.hpp"

namespace sinew::launch {

/// How a provider starts the agent of one node.
struct NodeCommand {
    std::vector<std::string> argv;  ///< argv[0] is looked up in PATH; contains no secret
    std::vector<std::string> env;   ///< "NAME=value" of that process
    std::string folder;             ///< its working directory; empty: ours
    /// The process is the agent itself, so that its end is the end of all it has started.
    bool is_agent = false;
    /// Unless it is killed or ends with exit_launcher_failed, it ends after the agent and all that
    /// the agent has started. It takes SIGTERM for them.
    bool outlives_agent = false;
    /// It is `sinew run --at`: ends without a signal when its agent has left in order; the last line
    /// of its standard error says why it has ended.
    bool is_client = false;
};

/// Nodes whose agents are started by a process here each: the agent itself, or ssh and the like. The
/// configuration goes to its standard input, whose end tells the agent to leave.
///
/// A process that ends is started again after 0.2 s, at first; the pause doubles up to 10 s while
/// its agents do not join. After five that have not joined in a row the node is given up, and
/// without AcquireRequest::replace at its first end.
class ProcessProvider final : public NodeProvider {
public:
    using Command = std::function<NodeCommand(int index, std::string const& id)>;
    ProcessProvider(wire::Loop& loop, AcquireRequest request, ProviderEvents events, int output_fd,
                    Command command);
    ProcessProvider(ProcessProvider const&) = delete;
    /// Kills what still runs.
    ~ProcessProvider() override;
    void start() override;
    void resize(int count) override;
    void joined(std::string const& node) override;
    void lost(std::string const& node) override;
    void release() override;

private:
    struct Slot {
        int index = 0;
        int life = 0;      ///< how many agents of this index were started before
        int failures = 0;  ///< agents in a row that have not joined
        bool wanted = true, has_joined = false, given_up = false, is_agent = false;
        bool outlives_agent = false, is_client = false;
        pid_t pid = 0;
        UniqueFd ended, input, errors;
        wire::Loop::Handle ended_watch, errors_watch, pause;
        LineAssembler lines;
        std::deque<std::string> tail;  ///< the last lines of its standard error
    };
    std::string id_of(Slot const& slot) const;
    Slot* find(std::string const& node);
    void run(Slot& slot);
    void could_not_start(Slot& slot, std::string const& why);
    bool on_errors(Slot& slot);
    void on_end(Slot& slot);
    void after_end(Slot& slot, std::string const& how);
    void tell_if_all_failed(std::string const& why);
    void drop(Slot& slot);
    void end_unwanted(Slot& slot);
    void terminate(Slot& slot);
    void kill_leftovers();
    void tell_if_released();

    wire::Loop& loop_;
    AcquireRequest const request_;
    ProviderEvents const events_;
    int const output_fd_;
    Command const command_;
    std::map<int, Slot> slots_;  ///< by index
    std::map<int, int> lives_;   ///< how many agents of an index were started
    int count_ = 0;
    bool releasing_ = false, told_released_ = false;
};

/// Agents on this host, as children of `sinew acquire`.
std::unique_ptr<NodeProvider> make_local_provider(wire::Loop& loop, AcquireRequest const& request,
                                                  ProviderEvents events, int output_fd);
/// Agents on hosts, by ssh or the request's launch_agent.
std::unique_ptr<NodeProvider> make_ssh_provider(wire::Loop& loop, AcquireRequest const& request,
                                                ProviderEvents events, int output_fd);
/// Agents in containers of this host's engine.
std::unique_ptr<NodeProvider> make_docker_provider(wire::Loop& loop, AcquireRequest const& request,
                                                   ProviderEvents events, int output_fd);
/// Agents on the nodes of the Slurm job in which this process runs, by a step of srun each.
std::unique_ptr<NodeProvider> make_slurm_provider(wire::Loop& loop, AcquireRequest const& request,
                                                  ProviderEvents events, int output_fd);

/// Agents as jobs of `sinew serve`, by `sinew run --at`.
std::unique_ptr<NodeProvider> make_service_provider(wire::Loop& loop, AcquireRequest const& request,
                                                    ProviderEvents events, int output_fd);

}  // namespace sinew::launch
