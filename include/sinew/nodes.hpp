// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <sinew/communicator.hpp>

namespace sinew {

namespace nodes {
struct State;
struct Access;
}  // namespace nodes

/// Where a process is started: this host, or another node of a job. A value; keeps the agent there at
/// work.
class Node {
public:
    Node() = default;  ///< this process's own
    bool is_here() const { return state_ == nullptr; }
    /// Its name.
    std::string host() const;

private:
    friend struct nodes::Access;
    std::shared_ptr<nodes::State> state_;
    std::size_t index_ = 0;
};

/// The nodes of a communicator as places for processes: managers, members of rings. Rank 0 starts
/// them; the first rank of each other node is the agent that does it there, and the parent of what it
/// has started. Collective; main() must begin with sinew::init(argc, argv) on all ranks.
///
///     sinew::Nodes nodes(communicator);
///     if (nodes.serves()) return 0;          // ranks other than 0: to the end of rank 0's
///     sinew::Manager there({.node = nodes[1]});
///     sinew::Ring ring(4 * nodes.size(), train, {.nodes = nodes.all()});
///
/// What was started so is of rank 0's family, by TCP under TLS where there are several hosts, and dies
/// with rank 0, whatever happens to that or to its agent or to the network: within 10 s.
class Nodes {
public:
    /// Throws, on all ranks, UsageError and SystemError.
    explicit Nodes(Communicator& communicator);
    Nodes(Nodes&&) noexcept;
    Nodes& operator=(Nodes&&) noexcept;
    /// Rank 0: agents go when the last Node of theirs has gone, and what uses it. Others: waits for
    /// that, unless an exception unwinds the stack.
    ~Nodes();

    /// This rank is not rank 0: it has no nodes, and serves.
    bool serves() const;
    /// Until rank 0 needs this one no more, or is lost. At once on rank 0.
    void wait();

    // On rank 0; elsewhere UsageError.
    int size() const;
    /// 0: this one. In the communicator's order. UsageError for others than there are.
    Node operator[](int node) const;
    std::vector<Node> all() const;

private:
    struct Served;
    std::shared_ptr<nodes::State> state_;
    std::shared_ptr<Served> served_;
    int exceptions_ = 0;
};

}  // namespace sinew
