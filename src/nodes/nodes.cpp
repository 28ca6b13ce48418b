// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <sinew/error.hpp>
#include <sinew/nodes.hpp>
#include <utility>

#include "src/base/text.hpp"
#include "src/nodes/node_agent.hpp"
#include "src/nodes/place.hpp"
#include "src/nodes/remote_node.hpp"
#include "src/nodes/rendezvous.hpp"

namespace sinew {

namespace nodes {

/// Rank 0's: kept by all Nodes and Node values, and by what was started.
struct State {
    explicit State(process::Runtime& runtime_) : runtime(runtime_) {}
    State(State const&) = delete;
    // Not with the guard: who lets go of it last may hold that.
    ~State() {
        if (process::Runtime::forked()) {
            process::Runtime::leave_to_parent(std::make_shared<decltype(ranks)>(std::move(ranks)));
            return;
        }
        runtime.loop().post([all = std::move(ranks)] {
            for (auto const& rank : all)
                if (rank) rank->over();
        });
    }
    std::shared_ptr<RemoteNode> const& at(std::size_t node) const {
        return ranks[static_cast<std::size_t>(shares[node].supervisor)];
    }

    process::Runtime& runtime;
    std::vector<NodeShare> shares;
    std::vector<std::shared_ptr<RemoteNode>> ranks;  ///< none for rank 0
};

struct Access {
    static Node make(std::shared_ptr<State> state, std::size_t index) {
        Node node;
        node.state_ = std::move(state);
        node.index_ = index;
        return node;
    }
    static std::shared_ptr<RemoteNode> find(Node const& node) {
        return node.is_here() ? nullptr : node.state_->at(node.index_);
    }
};

std::unique_ptr<process::Child> start_child(Node const& node, process::ChildSpec const& spec) {
    auto const far = Access::find(node);
    return far ? far->start(spec) : process::start_child(spec);
}

bool is_lost(Node const& node) {
    auto const far = Access::find(node);
    return far && far->lost();
}

}  // namespace nodes

std::string Node::host() const {
    return is_here() ? process::Runtime::host_name() : state_->shares[index_].host;
}

struct Nodes::Served {
    explicit Served(std::shared_ptr<nodes::Agent> agent_) : agent(std::move(agent_)) {}
    Served(Served const&) = delete;
    ~Served() {
        agent->runtime().loop().post([agent = agent] { agent->leave(); });
    }
    std::shared_ptr<nodes::Agent> const agent;
};

Nodes::Nodes(Communicator& communicator) : exceptions_(std::uncaught_exceptions()) {
    auto& runtime = process::Runtime::instance();
    nodes::Rendezvous rendezvous(runtime, communicator, "use of nodes", nodes::link_options());
    if (communicator.rank() == 0) {
        auto state = std::make_shared<nodes::State>(runtime);
        state->ranks.resize(static_cast<std::size_t>(communicator.size()));
        rendezvous.receive([&](std::size_t rank, auto link, std::string const& host) {
            state->ranks[rank] = std::make_shared<nodes::RemoteNode>(std::move(link), host);
            state->ranks[rank]->begin();
        });
        state->shares = rendezvous.nodes();
        state_ = std::move(state);
        return;
    }
    std::shared_ptr<nodes::Agent> agent;
    rendezvous.go(
        [&](auto link, wire::Secret const& session, cpu_set_t const& cpus) {
            agent = std::make_shared<nodes::Agent>(
                runtime, std::move(link),
                nodes::Agent::Setup{.rank = communicator.rank(), .session = session, .cpus = cpus});
            agent->begin();
        },
        [&] { agent->leave(); });
    served_ = std::make_shared<Served>(std::move(agent));
}

Nodes::Nodes(Nodes&&) noexcept = default;

Nodes& Nodes::operator=(Nodes&& other) noexcept {
    if (this == &other) return *this;
    if (served_) served_->agent->wait_until_over();
    state_ = std::move(other.state_);
    served_ = std::move(other.served_);
    exceptions_ = other.exceptions_;
    return *this;
}

Nodes::~Nodes() {
    if (served_ && std::uncaught_exceptions() <= exceptions_) served_->agent->wait_until_over();
}

bool Nodes::serves() const { return served_ != nullptr; }

void Nodes::wait() {
    if (served_) served_->agent->wait_until_over();
}

int Nodes::size() const {
    if (!state_)
        throw UsageError(
            "this rank has no nodes to start processes on (rank 0 has; the others serve). Start "
            "them "
            "there, and let the others wait()");
    return static_cast<int>(state_->shares.size());
}

Node Nodes::operator[](int node) const {
    if (node < 0 || node >= size())
        throw UsageError(
            text("node ", node, " of ", size(), " (must be from 0 to ", size() - 1, ")"));
    // Our own needs no agent.
    return node == 0 ? Node() : nodes::Access::make(state_, static_cast<std::size_t>(node));
}

std::vector<Node> Nodes::all() const {
    std::vector<Node> found;
    for (int node = 0; node < size(); ++node) found.push_back((*this)[node]);
    return found;
}

}  // namespace sinew
