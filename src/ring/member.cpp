// SPDX-License-Identifier: Apache-2.0
#include <sinew/detail/ring_call.hpp>
#include <sinew/error.hpp>
#include <sinew/ring_member.hpp>
#include <utility>

#include "src/base/text.hpp"
#include "src/ring/member_state.hpp"
#include "src/task/demangle.hpp"

namespace sinew {
namespace ring {
namespace {

void call(detail::TaskId id, Bytes const& state_bytes, Bytes const& argument_bytes,
          RingMember& member) {
    auto const& entry = *detail::find_task(id);
    Reader state(state_bytes), arguments(argument_bytes);
    auto const function = entry.make != nullptr ? entry.make(state) : nullptr;
    detail::RingInvocation invocation{member, function.get()};
    Writer dropped;
    entry.run(&invocation, arguments, dropped);
}

}  // namespace

MemberState::MemberState(MemberOrder order, Table table, MemberEndpoints endpoints,
                         std::function<void(std::uint64_t, State const&)> commit_)
    : rank(order.rank), epoch(order.epoch), name(std::move(order.name)), members(table.members),
      port(std::move(endpoints.port)),
      communicator(meet(table, order.rank, std::move(endpoints.listeners))), commits(order.commits),
      committed(std::move(order.committed)), commit(std::move(commit_)) {}

bool is_known(Work const& work) {
    return detail::find_task(work.target) != nullptr &&
           (!work.has_init || detail::find_task(work.init) != nullptr);
}

void perform(Work const& work, RingMember& member) {
    if (work.has_init) call(work.init, work.init_state, work.arguments, member);
    call(work.target, work.target_state, {}, member);
}

}  // namespace ring

int RingMember::rank() const { return state_.rank; }
int RingMember::size() const { return static_cast<int>(state_.members.size()); }
std::string const& RingMember::name() const { return state_.name; }
std::vector<RingNode> const& RingMember::members() const { return state_.members; }

RingNode const& RingMember::left() const {
    return state_.members[static_cast<std::size_t>((rank() + size() - 1) % size())];
}
RingNode const& RingMember::right() const {
    return state_.members[static_cast<std::size_t>((rank() + 1) % size())];
}

Communicator& RingMember::communicator() { return state_.communicator; }
int RingMember::epoch() const { return state_.epoch; }
void RingMember::release_port() { state_.port.release(); }

void RingMember::commit_state(char const* type, std::span<std::byte const> value) {
    ring::State state{type, {value.begin(), value.end()}};
    state_.commit(state_.commits + 1, state);
    ++state_.commits;
    state_.committed = std::move(state);
}

std::optional<std::span<std::byte const>> RingMember::committed_state(char const* type) const {
    if (!state_.committed) return std::nullopt;
    if (state_.committed->type != type)
        throw UsageError(text("rank ", rank(), " of ", size(), " of ", name(), ": commit ",
                              state_.commits, " is asked for as ", detail::demangle(type),
                              " (it was made as ", detail::demangle(state_.committed->type.c_str()),
                              "). Ask for the type that was committed"));
    return state_.committed->value;
}

}  // namespace sinew
