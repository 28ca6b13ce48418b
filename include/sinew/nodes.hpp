// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sinew/communicator.hpp>
#include <sinew/meta.hpp>
#include <sinew/node.hpp>

namespace sinew {

namespace nodes {
struct State;
class Served;
struct Access;
}  // namespace nodes

/// What Nodes::acquire asks for.
struct NodesOptions {
    int count = 1;  ///< of nodes; resize() changes it
    /// "local": processes of this host. "ssh": `hosts`, or the batch system's. "docker": containers
    /// of `image` on this host. "slurm": steps of the Slurm job of this process. "kubernetes": a pod
    /// for each node. "service": a job of `sinew serve` for each node, on the machines `hosts`. "auto": what SINEW_BACKEND names; kubernetes in a pod; what FIBER_BACKEND
    /// names; slurm in such a job, unless hosts are given; ssh if there are hosts; otherwise local.
    std::string backend = "auto";
    /// Hosts of backend ssh, used in turns. Empty: those of the allocation. Of backend service: hosts
    /// ("box", "box:7420") and names of services, as --at of `sinew run` takes them.
    std::vector<std::string> hosts = {};
    /// Starts a program on a host in place of ssh, as --launch-agent of `sinew run` does:
    /// "ip netns exec {host} {command}".
    std::string launch_agent = {};
    /// Of the pods; empty: that of this process's own pod. Of the containers; empty: SINEW_IMAGE or
    /// FIBER_IMAGE.
    std::string image = {};
    /// Files and folders of this host that containers of docker see: "SOURCE[:TARGET[:ro]]", absolute.
    std::vector<std::string> mounts = {};
    /// Variables "NAME=value" added to the environment of the nodes' processes, or replaced.
    std::vector<std::string> env = {};
    /// Resources of each node; a pool has as many workers there as they have room for. 0: what the
    /// node has. Kubernetes enforces them.
    Meta meta = {};
    /// How long this process waits while there is no node at all.
    std::chrono::nanoseconds start_timeout = std::chrono::minutes(5);
    /// acquire() returns when so many nodes are there. 0: at once.
    int minimum = 1;
    std::string name = {};  ///< of the nodes in messages and at the backend; empty: "nodes"
    /// The IP address of this host by which nodes reach this process, which listens there alone.
    /// Empty: they try those of all network interfaces.
    std::string address = {};
    /// Of backend service: how long the job of a node may last before it is ended. 0: no limit.
    std::chrono::nanoseconds time_limit = {};
    int priority = 0;     ///< of backend service: -1000 to 1000; the highest begins first
    bool replace = true;  ///< false: a node that is lost is not replaced by a new one
};

/// The nodes of a communicator as places for processes, managers, members of rings and the workers
/// of pools. Rank 0 starts them; the first rank of each other node is the agent that does so there,
/// and the parent of the processes it started. Collective; main() must begin with
/// sinew::init(argc, argv) on all ranks.
///
///     sinew::Nodes nodes(communicator);
///     if (nodes.serves()) return 0;          // ranks other than 0: when rank 0 is done
///     sinew::Manager there({.node = nodes[1]});
///     sinew::Pool pool(nodes);
///     sinew::Ring ring(4 * nodes.size(), train, {.nodes = nodes.all()});
///
/// These processes join rank 0's session, by TCP under TLS if there are several hosts. They end
/// within 10 s when rank 0 or their agent ends, or the network between them is cut. A node that is
/// lost is reported when its processes have certainly ended: within 10 s, too.
///
/// A process that no launcher has started acquires nodes itself, by the `sinew` command; they run
/// this same program, which joins this process's session by TCP under TLS (backend local: by a Unix
/// socket):
///
///     sinew::Nodes nodes = sinew::Nodes::acquire({.count = 4, .meta = {.cpu = 2}});
///     sinew::Pool pool(nodes);
///
/// Such nodes come one by one; a node that is lost is replaced by a new one. size(), operator[] and
/// all() are those that are there at present, the oldest first. A Node keeps its meaning: what is
/// started on one that is lost throws Unavailable. See docs/nodes.md. All members may be called from
/// any thread.
class Nodes {
public:
    /// Throws, on all ranks, UsageError and SystemError.
    explicit Nodes(Communicator& communicator);
    /// Asks a backend for nodes, and waits for the first `minimum` of them. Throws UsageError (no
    /// sinew::init; an option that is not valid), SystemError (no `sinew` command), Unavailable (the
    /// backend cannot provide them), Timeout (too few nodes within `start_timeout`); with what the
    /// backend says.
    static Nodes acquire(NodesOptions options);
    Nodes(Nodes&&) noexcept;
    Nodes& operator=(Nodes&&) noexcept;
    /// On rank 0: the agents end when nothing uses a Node any more, and acquired nodes are given
    /// back. On other ranks: waits for that,
    /// unless an exception unwinds the stack.
    ~Nodes();

    /// True on all ranks but 0: they have no nodes, and serve rank 0.
    bool serves() const;
    /// Returns when rank 0 does not need this rank any more, or is lost; at once on rank 0.
    void wait();

    // On rank 0; other ranks throw UsageError.
    int size() const;
    /// Nodes in the communicator's order; 0 is rank 0's own. Throws UsageError unless
    /// 0 <= node < size().
    Node operator[](int node) const;
    std::vector<Node> all() const;

    // Of acquired nodes; those of a communicator do not change.
    /// Waits until so many nodes are there; false if it takes longer. Throws Unavailable if no more
    /// will come.
    bool wait_for(int count, std::chrono::nanoseconds limit) const;
    /// How many times a node has come or was lost.
    std::uint64_t changes() const;
    /// Waits until changes() is no longer `known`; false if it takes longer.
    bool wait_for_change(std::uint64_t known, std::chrono::nanoseconds limit) const;
    /// What the backend says about nodes that have not come: "nodes-2: 0/4 nodes are available: ..."
    /// Empty: nothing.
    std::string waiting_for() const;
    /// Asks for so many from now on. What runs on surplus nodes, the newest ones of the backend, is
    /// killed; a pool executes the tasks elsewhere. Throws UsageError if `count` is below 0, or the
    /// nodes are those of a communicator.
    void resize(int count);

private:
    explicit Nodes(std::shared_ptr<nodes::State> state);
    friend struct nodes::Access;
    std::shared_ptr<nodes::State> state_;
    std::shared_ptr<nodes::Served> served_;
    int exceptions_ = 0;
};

}  // namespace sinew
