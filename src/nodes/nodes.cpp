// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <sinew/error.hpp>
#include <sinew/nodes.hpp>
#include <string>
#include <utility>

#include "src/base/text.hpp"
#include "src/nodes/access.hpp"
#include "src/nodes/remote_node.hpp"
#include "src/nodes/rendezvous.hpp"
#include "src/process/child/remote_host.hpp"

namespace sinew {

namespace nodes {

/// The state of rank 0, shared by all Nodes and Node values and by holders of Access::keep().
struct State {
    explicit State(process::Runtime& runtime_) : runtime(runtime_) {}
    State(State const&) = delete;
    // Does not lock the guard, which the thread that drops the last reference may hold.
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

    process::Runtime& runtime;
    std::vector<NodeShare> shares;
    std::vector<std::shared_ptr<RemoteNode>> ranks;  ///< null for rank 0
};

namespace {

/// The RemoteHost of a Node value.
class NodePlace final : public process::RemoteHost {
public:
    NodePlace(std::shared_ptr<State> state, std::size_t node)
        : state_(std::move(state)), node_(state_->shares[node]) {}
    std::unique_ptr<process::Child> start(process::ChildSpec const& spec) override {
        return agent().start(spec);
    }
    bool lost() const override { return agent().lost(); }
    std::string const& name() const override { return node_.host; }

private:
    RemoteNode& agent() const { return *state_->ranks[static_cast<std::size_t>(node_.agent)]; }
    std::shared_ptr<State> const state_;
    NodeShare const& node_;
};

}  // namespace

std::vector<NodeShare> const& Access::shares(Nodes const& nodes) { return nodes.state_->shares; }

}  // namespace nodes

Nodes::Nodes(Communicator& communicator) : exceptions_(std::uncaught_exceptions()) {
    auto& runtime = process::Runtime::instance();
    nodes::Rendezvous rendezvous(runtime, communicator, nodes::link_options());
    if (communicator.rank() == 0) {
        auto state = std::make_shared<nodes::State>(runtime);
        state->ranks.resize(static_cast<std::size_t>(communicator.size()));
        rendezvous.receive([&](std::size_t rank, auto link, std::string const& host) {
            state->ranks[rank] =
                std::make_shared<nodes::RemoteNode>(runtime.loop(), std::move(link), host);
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
    served_ = std::make_shared<nodes::Served>(std::move(agent));
}

Nodes::Nodes(Nodes&&) noexcept = default;

Nodes& Nodes::operator=(Nodes&& other) noexcept {
    if (this == &other) return *this;
    if (served_) served_->agent().wait_until_over();
    state_ = std::move(other.state_);
    served_ = std::move(other.served_);
    exceptions_ = other.exceptions_;
    return *this;
}

Nodes::~Nodes() {
    if (served_ && std::uncaught_exceptions() <= exceptions_) served_->agent().wait_until_over();
}

bool Nodes::serves() const { return served_ != nullptr; }

void Nodes::wait() {
    if (served_) served_->agent().wait_until_over();
}

int Nodes::size() const {
    if (!state_)
        throw UsageError(
            "this rank has no nodes to start processes on (rank 0 has them; the others serve it). "
            "Start them on rank 0, and let the others wait()");
    return static_cast<int>(state_->shares.size());
}

Node Nodes::operator[](int node) const {
    if (node < 0 || node >= size())
        throw UsageError(
            text("node ", node, " of ", size(), " (must be from 0 to ", size() - 1, ")"));
    if (node == 0) return {};  // our own needs no agent
    return process::NodeAccess::make(
        std::make_shared<nodes::NodePlace>(state_, static_cast<std::size_t>(node)));
}

std::vector<Node> Nodes::all() const {
    std::vector<Node> found;
    for (int node = 0; node < size(); ++node) found.push_back((*this)[node]);
    return found;
}

}  // namespace sinew
