// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <sinew/communicator.hpp>
#include <sinew/node.hpp>

namespace sinew {

namespace nodes {
struct State;
class Served;
struct Access;
}  // namespace nodes

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
class Nodes {
public:
    /// Throws, on all ranks, UsageError and SystemError.
    explicit Nodes(Communicator& communicator);
    Nodes(Nodes&&) noexcept;
    Nodes& operator=(Nodes&&) noexcept;
    /// On rank 0: the agents end when nothing uses a Node any more. On other ranks: waits for that,
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

private:
    friend struct nodes::Access;
    std::shared_ptr<nodes::State> state_;
    std::shared_ptr<nodes::Served> served_;
    int exceptions_ = 0;
};

}  // namespace sinew
