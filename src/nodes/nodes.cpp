// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <sinew/error.hpp>
#include <sinew/nodes.hpp>
#include <string>
#include <utility>

#include "src/base/text.hpp"
#include "src/nodes/access.hpp"
#include "src/nodes/rendezvous.hpp"
#include "src/nodes/state.hpp"

namespace sinew {

namespace nodes {
namespace {

/// The RemoteHost of a Node value, which keeps all nodes.
class NodePlace final : public process::RemoteHost {
public:
    NodePlace(std::shared_ptr<State> state, std::shared_ptr<Member> member)
        : state_(std::move(state)), member_(std::move(member)) {}
    std::unique_ptr<process::Child> start(process::ChildSpec const& spec) override {
        return member_->start(spec);
    }
    bool lost() const override { return member_->lost(); }
    std::string const& name() const override { return member_->name(); }

private:
    std::shared_ptr<State> const state_;
    std::shared_ptr<Member> const member_;
};

std::shared_ptr<State> state_over(Communicator& communicator, Rendezvous& rendezvous,
                                  process::Runtime& runtime) {
    auto state = std::make_shared<State>(runtime);
    auto& ranks = state->owned.ranks;
    ranks.resize(static_cast<std::size_t>(communicator.size()));
    rendezvous.receive([&](std::size_t rank, auto link, std::string const& host) {
        ranks[rank] = std::make_shared<RemoteNode>(runtime.loop(), std::move(link), host);
        ranks[rank]->begin();
    });
    for (auto const& share : rendezvous.nodes())
        state->owned.roster->present.push_back(
            std::make_shared<Member>(share, ranks[static_cast<std::size_t>(share.agent)]));
    return state;
}

State const& owned_by(std::shared_ptr<State> const& state) {
    if (!state)
        throw UsageError(
            "this rank has no nodes to start processes on (rank 0 has them; the others serve it). "
            "Start them on rank 0, and let the others wait()");
    return *state;
}

std::vector<std::shared_ptr<Member>> present(State const& state) {
    std::lock_guard const lock(state.runtime.guard());
    return state.owned.roster->present;
}

// The time after `limit`, which may be the largest there is.
std::chrono::steady_clock::time_point deadline_of(std::chrono::nanoseconds limit) {
    constexpr std::chrono::nanoseconds longest = std::chrono::hours(24 * 365);
    return std::chrono::steady_clock::now() + std::min(limit, longest);
}

Node node_of(std::shared_ptr<State> const& state, std::shared_ptr<Member> const& member) {
    if (!member->agent()) return {};  // our own needs no agent
    return process::NodeAccess::make(std::make_shared<NodePlace>(state, member));
}

}  // namespace

std::vector<NodeShare> Access::shares(Nodes const& nodes) {
    std::vector<NodeShare> found;
    for (auto const& member : present(owned_by(nodes.state_))) found.push_back(member->share());
    return found;
}

std::shared_ptr<Roster> Access::acquired(Nodes const& nodes) {
    auto const& owned = owned_by(nodes.state_).owned;
    return owned.acquisition ? owned.roster : nullptr;
}

}  // namespace nodes

Nodes::Nodes(Communicator& communicator) : exceptions_(std::uncaught_exceptions()) {
    auto& runtime = process::Runtime::instance();
    nodes::Rendezvous rendezvous(runtime, communicator, nodes::link_options());
    if (communicator.rank() == 0) {
        state_ = nodes::state_over(communicator, rendezvous, runtime);
        return;
    }
    std::shared_ptr<nodes::Agent> agent;
    rendezvous.go(
        [&](auto link, wire::Secret const& session, cpu_set_t const& cpus) {
            agent = std::make_shared<nodes::Agent>(
                runtime, std::move(link),
                nodes::Agent::Setup{
                    .name = text("rank ", communicator.rank()), .session = session, .cpus = cpus});
            agent->begin();
        },
        [&] { agent->leave(); });
    served_ = std::make_shared<nodes::Served>(std::move(agent));
}

Nodes::Nodes(std::shared_ptr<nodes::State> state)
    : state_(std::move(state)), exceptions_(std::uncaught_exceptions()) {}

Nodes Nodes::acquire(NodesOptions options) {
    auto& runtime = process::Runtime::instance();
    nodes::check(options);
    int const minimum = options.minimum;
    auto const limit = options.start_timeout;
    auto state = std::make_shared<nodes::State>(runtime);
    auto& owned = state->owned;
    {
        std::lock_guard const lock(runtime.guard());
        owned.acquisition =
            std::make_shared<nodes::Acquisition>(runtime, std::move(options), owned.roster);
        owned.acquisition->begin();
    }
    Nodes nodes(std::move(state));
    if (minimum > 0 && !nodes.wait_for(minimum, limit))
        throw Timeout(text(nodes.size(), " of ", minimum, " nodes came within ",
                           std::chrono::duration<double>(limit).count(), " s (",
                           nodes.waiting_for(), "). See NodesOptions::minimum and start_timeout"));
    return nodes;
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

int Nodes::size() const { return static_cast<int>(nodes::present(nodes::owned_by(state_)).size()); }

Node Nodes::operator[](int node) const {
    auto const members = nodes::present(nodes::owned_by(state_));
    int const size = static_cast<int>(members.size());
    if (node < 0 || node >= size)
        throw UsageError(text("node ", node, " of ", size, " (must be from 0 to ", size - 1, ")"));
    return nodes::node_of(state_, members[static_cast<std::size_t>(node)]);
}

std::vector<Node> Nodes::all() const {
    std::vector<Node> found;
    for (auto const& member : nodes::present(nodes::owned_by(state_)))
        found.push_back(nodes::node_of(state_, member));
    return found;
}

bool Nodes::wait_for(int count, std::chrono::nanoseconds limit) const {
    auto const& state = nodes::owned_by(state_);
    auto& roster = *state.owned.roster;
    std::unique_lock lock(state.runtime.guard());
    auto const there = [&] { return roster.present.size() >= static_cast<std::size_t>(count); };
    if (count <= 0) return true;
    roster.changed.wait_until(lock, nodes::deadline_of(limit),
                              [&] { return there() || !roster.failure.empty(); });
    if (!there() && !roster.failure.empty()) throw Unavailable(roster.failure);
    return there();
}

std::uint64_t Nodes::changes() const {
    auto const& state = nodes::owned_by(state_);
    std::lock_guard const lock(state.runtime.guard());
    return state.owned.roster->changes;
}

bool Nodes::wait_for_change(std::uint64_t known, std::chrono::nanoseconds limit) const {
    auto const& state = nodes::owned_by(state_);
    auto& roster = *state.owned.roster;
    std::unique_lock lock(state.runtime.guard());
    return roster.changed.wait_until(lock, nodes::deadline_of(limit),
                                     [&] { return roster.changes != known; });
}

std::string Nodes::waiting_for() const {
    auto const& state = nodes::owned_by(state_);
    std::lock_guard const lock(state.runtime.guard());
    return state.owned.roster->waiting_for;
}

void Nodes::resize(int count) {
    auto const& state = nodes::owned_by(state_);
    if (!state.owned.acquisition)
        throw UsageError(text("resize(", count,
                              ") of the nodes of a communicator (they do not change). Acquire "
                              "nodes by Nodes::acquire instead"));
    std::lock_guard const lock(state.runtime.guard());
    state.owned.acquisition->resize(count);
}

}  // namespace sinew
