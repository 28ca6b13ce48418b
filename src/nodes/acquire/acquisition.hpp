// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <set>
#include <sinew/nodes.hpp>
#include <string>
#include <vector>

#include "src/nodes/acquire/agent_config.hpp"
#include "src/nodes/acquire/backend_process.hpp"
#include "src/nodes/roster.hpp"
#include "src/process/runtime.hpp"

namespace sinew::nodes {

/// Throws UsageError for an option that is not valid, or if sinew::init() was not called.
void check(NodesOptions const& options);

/// Acquires nodes for this process: has `sinew acquire` start agents, lets them join, and keeps the
/// roster. Requires: guard held.
class Acquisition : public std::enable_shared_from_this<Acquisition> {
public:
    Acquisition(process::Runtime& runtime, NodesOptions options, std::shared_ptr<Roster> roster);
    Acquisition(Acquisition const&) = delete;
    ~Acquisition();
    /// Throws SystemError.
    void begin();
    /// Throws UsageError.
    void resize(int count);
    /// Gives all nodes back.
    void end();

private:
    std::vector<std::string> shared_gpus() const;
    std::vector<std::string> listen(bool here);
    void accept(std::unique_ptr<wire::Link> link);
    void heard(wire::Link* key, wire::Message const& message);
    std::string objection(JoinMessage const& join) const;
    void add(std::unique_ptr<wire::Link> link, JoinMessage const& join);
    void on_node(std::shared_ptr<Member> const& member);
    void on_event(BackendEvent const& event);
    void on_state(BackendEvent const& event);
    void on_backend_end(std::string const& how);
    void say_waiting();
    void fail(std::string const& why);
    void expect_nodes();

    process::Runtime& runtime_;
    NodesOptions options_;
    std::string backend_;
    std::shared_ptr<Roster> const roster_;
    std::unique_ptr<wire::Listener> listener_;
    std::map<wire::Link*, std::unique_ptr<wire::Link>> unnamed_;  ///< have not sent `joined`
    std::shared_ptr<BackendProcess> process_;
    std::map<std::string, std::string> reasons_;  ///< why a node is not there, by its id
    std::string over_;                            ///< why no more nodes are started
    wire::Loop::Handle none_;                     ///< while there is no node
};

}  // namespace sinew::nodes
