// SPDX-License-Identifier: Apache-2.0
#include <sinew/communicator.hpp>

#include <sinew/error.hpp>

#include "src/comm/collective/collective_execution.hpp"
#include "src/comm/communicator_state.hpp"

namespace sinew {

using detail::Invocation;
using detail::PointToPoint;
using C = Collective;

namespace {

Invocation in_place(C collective, Buffer data, CallOptions options) {
    return {
        .collective = collective, .in = data, .out = data, .in_place = true, .options = options};
}

Invocation between(C collective, ConstBuffer in, Buffer out, CallOptions options) {
    return {.collective = collective, .in = in, .out = out, .options = options};
}

Invocation with(Invocation call, ReduceOp const& op) {
    call.op = op;
    return call;
}

Invocation with(Invocation call, Parts parts) {
    call.parts = parts;
    return call;
}

Invocation rooted(Invocation call, int root) {
    call.root = root;
    return call;
}

Invocation exchanged(ConstBuffer in, Parts sent, Buffer out, Parts received, CallOptions options) {
    Invocation call = with(between(C::alltoallv, in, out, options), received);
    call.sent = sent;
    return call;
}

}  // namespace

Communicator::Communicator(std::shared_ptr<detail::CommunicatorState> state)
    : state_(std::move(state)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

int Communicator::rank() const noexcept { return state_->transport().rank(); }
int Communicator::size() const noexcept { return state_->transport().size(); }
NodeLayout const& Communicator::nodes() const noexcept { return state_->nodes(); }
Transport& Communicator::transport() const noexcept { return state_->transport(); }
std::string Communicator::explain(Collective collective) const {
    return state_->tuner().explain(collective, size(), state_->shares_memory());
}
std::string_view Communicator::algorithm_for(Collective collective, std::size_t bytes,
                                             DataType type, ReduceOp const& op) const {
    return detail::expected_algorithm(
               state_->tuner(), size(), state_->shares_memory(),
               {.collective = collective, .in = {nullptr, bytes / type.size(), type}, .op = op})
        .name;
}
int Communicator::max_tag() const noexcept {
    return state_->transport().max_tag() - detail::first_user_tag;
}

Communicator Communicator::split(int color, int key) {
    return Communicator(state_->split(color, key));
}
void Communicator::split_none() { state_->split(std::nullopt, 0); }
Communicator Communicator::split_node() { return split(nodes().node); }
Communicator Communicator::dup() { return split(0); }

// One line per form of a collective; the macro defines its blocking and its non-blocking function.
// clang-format off
#define SINEW_BOTH_WAYS(name, parameters, ...)                                   \
    void Communicator::name parameters { state_->run(Invocation(__VA_ARGS__)); }             \
    Request Communicator::i##name parameters { return state_->start(Invocation(__VA_ARGS__)); }

/// The same for a collective with short calls, which take `arguments`.
#define SINEW_BOTH_WAYS_AT_ONCE(name, parameters, arguments, ...)                \
    void Communicator::name parameters {                                         \
        if (!state_->name##_at_once arguments) state_->run(Invocation(__VA_ARGS__)); \
    }                                                                            \
    Request Communicator::i##name parameters { return state_->start(Invocation(__VA_ARGS__)); }

SINEW_BOTH_WAYS_AT_ONCE(allreduce, (Buffer data, ReduceOp const& op, CallOptions o), (data, data, op, o), with(in_place(C::allreduce, data, o), op))
SINEW_BOTH_WAYS_AT_ONCE(allreduce, (ConstBuffer in, Buffer out, ReduceOp const& op, CallOptions o), (in, out, op, o), with(between(C::allreduce, in, out, o), op))
SINEW_BOTH_WAYS(reduce_scatter, (Buffer data, Parts parts, ReduceOp const& op, CallOptions o), with(with(in_place(C::reduce_scatter, data, o), op), parts))
SINEW_BOTH_WAYS(reduce_scatter, (ConstBuffer in, Buffer out, Parts parts, ReduceOp const& op, CallOptions o), with(with(between(C::reduce_scatter, in, out, o), op), parts))
SINEW_BOTH_WAYS(reduce_scatter_block, (Buffer data, ReduceOp const& op, CallOptions o), with(in_place(C::reduce_scatter_block, data, o), op))
SINEW_BOTH_WAYS(reduce_scatter_block, (ConstBuffer in, Buffer out, ReduceOp const& op, CallOptions o), with(between(C::reduce_scatter_block, in, out, o), op))
SINEW_BOTH_WAYS(allgather, (Buffer data, CallOptions o), in_place(C::allgather, data, o))
SINEW_BOTH_WAYS(allgather, (ConstBuffer in, Buffer out, CallOptions o), between(C::allgather, in, out, o))
SINEW_BOTH_WAYS(allgatherv, (Buffer data, Parts parts, CallOptions o), with(in_place(C::allgatherv, data, o), parts))
SINEW_BOTH_WAYS(allgatherv, (ConstBuffer in, Buffer out, Parts parts, CallOptions o), with(between(C::allgatherv, in, out, o), parts))
SINEW_BOTH_WAYS_AT_ONCE(broadcast, (Buffer data, int root, CallOptions o), (data, root, o), rooted(in_place(C::broadcast, data, o), root))
SINEW_BOTH_WAYS(reduce, (Buffer data, ReduceOp const& op, int root, CallOptions o), rooted(with(in_place(C::reduce, data, o), op), root))
SINEW_BOTH_WAYS(reduce, (ConstBuffer in, Buffer out, ReduceOp const& op, int root, CallOptions o), rooted(with(between(C::reduce, in, out, o), op), root))
SINEW_BOTH_WAYS(gather, (Buffer data, int root, CallOptions o), rooted(in_place(C::gather, data, o), root))
SINEW_BOTH_WAYS(gather, (ConstBuffer in, Buffer out, int root, CallOptions o), rooted(between(C::gather, in, out, o), root))
SINEW_BOTH_WAYS(gatherv, (Buffer data, Parts parts, int root, CallOptions o), rooted(with(in_place(C::gatherv, data, o), parts), root))
SINEW_BOTH_WAYS(gatherv, (ConstBuffer in, Buffer out, Parts parts, int root, CallOptions o), rooted(with(between(C::gatherv, in, out, o), parts), root))
SINEW_BOTH_WAYS(scatter, (Buffer data, int root, CallOptions o), rooted(in_place(C::scatter, data, o), root))
SINEW_BOTH_WAYS(scatter, (ConstBuffer in, Buffer out, int root, CallOptions o), rooted(between(C::scatter, in, out, o), root))
SINEW_BOTH_WAYS(scatterv, (Buffer data, Parts parts, int root, CallOptions o), rooted(with(in_place(C::scatterv, data, o), parts), root))
SINEW_BOTH_WAYS(scatterv, (ConstBuffer in, Buffer out, Parts parts, int root, CallOptions o), rooted(with(between(C::scatterv, in, out, o), parts), root))
SINEW_BOTH_WAYS(alltoall, (Buffer data, CallOptions o), in_place(C::alltoall, data, o))
SINEW_BOTH_WAYS(alltoall, (ConstBuffer in, Buffer out, CallOptions o), between(C::alltoall, in, out, o))
SINEW_BOTH_WAYS(alltoallv, (Buffer data, Parts parts, CallOptions o), with(in_place(C::alltoallv, data, o), parts))
SINEW_BOTH_WAYS(alltoallv, (ConstBuffer in, Parts sent, Buffer out, Parts received, CallOptions o), exchanged(in, sent, out, received, o))
SINEW_BOTH_WAYS(scan, (Buffer data, ReduceOp const& op, CallOptions o), with(in_place(C::scan, data, o), op))
SINEW_BOTH_WAYS(scan, (ConstBuffer in, Buffer out, ReduceOp const& op, CallOptions o), with(between(C::scan, in, out, o), op))
SINEW_BOTH_WAYS(exscan, (Buffer data, ReduceOp const& op, CallOptions o), with(in_place(C::exscan, data, o), op))
SINEW_BOTH_WAYS(exscan, (ConstBuffer in, Buffer out, ReduceOp const& op, CallOptions o), with(between(C::exscan, in, out, o), op))
SINEW_BOTH_WAYS_AT_ONCE(barrier, (CallOptions o), (o), Invocation{.collective = C::barrier, .options = o})
#undef SINEW_BOTH_WAYS
#undef SINEW_BOTH_WAYS_AT_ONCE
// clang-format on

void Communicator::send(ConstBuffer data, int to, int tag, CallOptions options) {
    state_->run(PointToPoint{.out = data, .to = to, .tag = tag, .options = options});
}

Received Communicator::recv(Buffer data, int from, int tag, CallOptions options) {
    return state_->run(PointToPoint{.in = data, .from = from, .tag = tag, .options = options});
}

Received Communicator::sendrecv(ConstBuffer out, int to, Buffer in, int from, int tag,
                                CallOptions options) {
    return state_->run(
        PointToPoint{.out = out, .to = to, .in = in, .from = from, .tag = tag, .options = options});
}

Request Communicator::isend(ConstBuffer data, int to, int tag, CallOptions options) {
    return state_->start(PointToPoint{.out = data, .to = to, .tag = tag, .options = options});
}

Request Communicator::irecv(Buffer data, int from, int tag, CallOptions options) {
    return state_->start(PointToPoint{.in = data, .from = from, .tag = tag, .options = options});
}

}  // namespace sinew
