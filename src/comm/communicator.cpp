// SPDX-License-Identifier: Apache-2.0
#include <sinew/communicator.hpp>

#include <sinew/error.hpp>

#include "src/comm/collective/collective_execution.hpp"
#include "src/comm/communicator_state.hpp"

namespace sinew {

using detail::Invocation;
using detail::PointToPoint;
using C = Collective;

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
    std::string words = state_->tuner().explain(collective, state_->shape());
    if (auto const* const refinement = state_->refinement())
        words += refinement->explain(collective);
    return words + state_->explain_domains(collective);
}
std::string_view Communicator::algorithm_for(Collective collective, std::size_t bytes,
                                             DataType type, ReduceOp const& op) const {
    return detail::expected_algorithm(
               state_->tuner(), state_->refinement(), state_->shape(),
               {.collective = collective, .in = {nullptr, bytes / type.size(), type}, .op = op})
        .name;
}
int Communicator::max_tag() const noexcept {
    return state_->transport().max_tag() - detail::first_user_tag;
}

std::pair<std::shared_ptr<void>, bool> Communicator::allocate_bytes(std::size_t bytes) {
    return state_->allocate(bytes);
}

Communicator Communicator::split(int color, int key) {
    return Communicator(state_->split(color, key));
}
void Communicator::split_none() { state_->split(std::nullopt, 0); }
Communicator Communicator::split_node() { return split(nodes().node); }
Communicator Communicator::dup() { return split(0); }
Communicator Communicator::shrink(std::chrono::nanoseconds timeout) {
    return Communicator(state_->shrink(timeout));
}

// One line per form of a collective; the macro defines its blocking, non-blocking and persistent
// function.
// clang-format off
#define SINEW_PERSISTENT(name, parameters, ...)                                  \
    PersistentRequest Communicator::name##_init parameters {                     \
        return state_->make_persistent(Invocation{__VA_ARGS__});                 \
    }

#define SINEW_BOTH_WAYS(name, parameters, ...)                                   \
    void Communicator::name parameters { state_->run(Invocation{__VA_ARGS__}); }             \
    Request Communicator::i##name parameters { return state_->start(Invocation{__VA_ARGS__}); } \
    SINEW_PERSISTENT(name, parameters, __VA_ARGS__)

/// The same for a collective with short blocking calls, which take `arguments`.
#define SINEW_BLOCKING_AT_ONCE(name, parameters, arguments, ...)                 \
    void Communicator::name parameters {                                         \
        if (!state_->name##_at_once arguments) state_->run(Invocation{__VA_ARGS__}); \
    }
#define SINEW_AT_ONCE(name, parameters, arguments, ...)                          \
    SINEW_BLOCKING_AT_ONCE(name, parameters, arguments, __VA_ARGS__)             \
    Request Communicator::i##name parameters { return state_->start(Invocation{__VA_ARGS__}); } \
    SINEW_PERSISTENT(name, parameters, __VA_ARGS__)

/// The same for a collective whose short non-blocking calls are posted, too.
#define SINEW_AT_ONCE_OR_POSTED(name, parameters, arguments, ...)                \
    SINEW_BLOCKING_AT_ONCE(name, parameters, arguments, __VA_ARGS__)             \
    Request Communicator::i##name parameters {                                   \
        if (auto posted = state_->post_##name arguments) return *std::move(posted); \
        return state_->start(Invocation{__VA_ARGS__});                           \
    }                                                                            \
    SINEW_PERSISTENT(name, parameters, __VA_ARGS__)

SINEW_AT_ONCE_OR_POSTED(allreduce, (Buffer const& data, ReduceOp const& op, CallOptions const& o), (data, data, op, o), .collective = C::allreduce, .in = data, .out = data, .in_place = true, .op = op, .options = o)
SINEW_AT_ONCE_OR_POSTED(allreduce, (ConstBuffer const& in, Buffer const& out, ReduceOp const& op, CallOptions const& o), (in, out, op, o), .collective = C::allreduce, .in = in, .out = out, .op = op, .options = o)
SINEW_BOTH_WAYS(reduce_scatter, (Buffer const& data, Parts parts, ReduceOp const& op, CallOptions const& o), .collective = C::reduce_scatter, .in = data, .out = data, .in_place = true, .op = op, .parts = parts, .options = o)
SINEW_AT_ONCE(reduce_scatter, (ConstBuffer const& in, Buffer const& out, Parts parts, ReduceOp const& op, CallOptions const& o), (in, out, parts, op, o), .collective = C::reduce_scatter, .in = in, .out = out, .op = op, .parts = parts, .options = o)
SINEW_BOTH_WAYS(reduce_scatter_block, (Buffer const& data, ReduceOp const& op, CallOptions const& o), .collective = C::reduce_scatter_block, .in = data, .out = data, .in_place = true, .op = op, .options = o)
SINEW_AT_ONCE(reduce_scatter_block, (ConstBuffer const& in, Buffer const& out, ReduceOp const& op, CallOptions const& o), (in, out, op, o), .collective = C::reduce_scatter_block, .in = in, .out = out, .op = op, .options = o)
SINEW_AT_ONCE(allgather, (Buffer const& data, CallOptions const& o), (data, data, true, o), .collective = C::allgather, .in = data, .out = data, .in_place = true, .options = o)
SINEW_AT_ONCE(allgather, (ConstBuffer const& in, Buffer const& out, CallOptions const& o), (in, out, false, o), .collective = C::allgather, .in = in, .out = out, .options = o)
SINEW_BOTH_WAYS(allgatherv, (Buffer const& data, Parts parts, CallOptions const& o), .collective = C::allgatherv, .in = data, .out = data, .in_place = true, .parts = parts, .options = o)
SINEW_BOTH_WAYS(allgatherv, (ConstBuffer const& in, Buffer const& out, Parts parts, CallOptions const& o), .collective = C::allgatherv, .in = in, .out = out, .parts = parts, .options = o)
SINEW_AT_ONCE_OR_POSTED(broadcast, (Buffer const& data, int root, CallOptions const& o), (data, root, o), .collective = C::broadcast, .in = data, .out = data, .in_place = true, .root = root, .options = o)
SINEW_AT_ONCE(reduce, (Buffer const& data, ReduceOp const& op, int root, CallOptions const& o), (data, data, op, root, o), .collective = C::reduce, .in = data, .out = data, .in_place = true, .op = op, .root = root, .options = o)
SINEW_AT_ONCE(reduce, (ConstBuffer const& in, Buffer const& out, ReduceOp const& op, int root, CallOptions const& o), (in, out, op, root, o), .collective = C::reduce, .in = in, .out = out, .op = op, .root = root, .options = o)
SINEW_AT_ONCE(gather, (Buffer const& data, int root, CallOptions const& o), (data, data, true, root, o), .collective = C::gather, .in = data, .out = data, .in_place = true, .root = root, .options = o)
SINEW_AT_ONCE(gather, (ConstBuffer const& in, Buffer const& out, int root, CallOptions const& o), (in, out, false, root, o), .collective = C::gather, .in = in, .out = out, .root = root, .options = o)
SINEW_BOTH_WAYS(gatherv, (Buffer const& data, Parts parts, int root, CallOptions const& o), .collective = C::gatherv, .in = data, .out = data, .in_place = true, .root = root, .parts = parts, .options = o)
SINEW_BOTH_WAYS(gatherv, (ConstBuffer const& in, Buffer const& out, Parts parts, int root, CallOptions const& o), .collective = C::gatherv, .in = in, .out = out, .root = root, .parts = parts, .options = o)
SINEW_AT_ONCE(scatter, (Buffer const& data, int root, CallOptions const& o), (data, data, true, root, o), .collective = C::scatter, .in = data, .out = data, .in_place = true, .root = root, .options = o)
SINEW_AT_ONCE(scatter, (ConstBuffer const& in, Buffer const& out, int root, CallOptions const& o), (in, out, false, root, o), .collective = C::scatter, .in = in, .out = out, .root = root, .options = o)
SINEW_BOTH_WAYS(scatterv, (Buffer const& data, Parts parts, int root, CallOptions const& o), .collective = C::scatterv, .in = data, .out = data, .in_place = true, .root = root, .parts = parts, .options = o)
SINEW_BOTH_WAYS(scatterv, (ConstBuffer const& in, Buffer const& out, Parts parts, int root, CallOptions const& o), .collective = C::scatterv, .in = in, .out = out, .root = root, .parts = parts, .options = o)
SINEW_BOTH_WAYS(alltoall, (Buffer const& data, CallOptions const& o), .collective = C::alltoall, .in = data, .out = data, .in_place = true, .options = o)
SINEW_AT_ONCE(alltoall, (ConstBuffer const& in, Buffer const& out, CallOptions const& o), (in, out, o), .collective = C::alltoall, .in = in, .out = out, .options = o)
SINEW_BOTH_WAYS(alltoallv, (Buffer const& data, Parts parts, CallOptions const& o), .collective = C::alltoallv, .in = data, .out = data, .in_place = true, .parts = parts, .options = o)
SINEW_BOTH_WAYS(alltoallv, (ConstBuffer const& in, Parts sent, Buffer const& out, Parts received, CallOptions const& o), .collective = C::alltoallv, .in = in, .out = out, .parts = received, .sent = sent, .options = o)
SINEW_AT_ONCE(scan, (Buffer const& data, ReduceOp const& op, CallOptions const& o), (data, data, op, o), .collective = C::scan, .in = data, .out = data, .in_place = true, .op = op, .options = o)
SINEW_AT_ONCE(scan, (ConstBuffer const& in, Buffer const& out, ReduceOp const& op, CallOptions const& o), (in, out, op, o), .collective = C::scan, .in = in, .out = out, .op = op, .options = o)
SINEW_BOTH_WAYS(exscan, (Buffer const& data, ReduceOp const& op, CallOptions const& o), .collective = C::exscan, .in = data, .out = data, .in_place = true, .op = op, .options = o)
SINEW_BOTH_WAYS(exscan, (ConstBuffer const& in, Buffer const& out, ReduceOp const& op, CallOptions const& o), .collective = C::exscan, .in = in, .out = out, .op = op, .options = o)
SINEW_AT_ONCE_OR_POSTED(barrier, (CallOptions const& o), (o), .collective = C::barrier, .options = o)
#undef SINEW_BOTH_WAYS
#undef SINEW_BLOCKING_AT_ONCE
#undef SINEW_AT_ONCE
#undef SINEW_AT_ONCE_OR_POSTED
#undef SINEW_PERSISTENT
// clang-format on

void Communicator::send(ConstBuffer const& data, int to, int tag, CallOptions const& options) {
    state_->run(PointToPoint{.out = data, .to = to, .tag = tag, .options = options});
}

Received Communicator::recv(Buffer const& data, int from, int tag, CallOptions const& options) {
    return state_->run(PointToPoint{.in = data, .from = from, .tag = tag, .options = options});
}

Received Communicator::sendrecv(ConstBuffer const& out, int to, Buffer const& in, int from, int tag,
                                CallOptions const& options) {
    return state_->run(
        PointToPoint{.out = out, .to = to, .in = in, .from = from, .tag = tag, .options = options});
}

Request Communicator::isend(ConstBuffer const& data, int to, int tag, CallOptions const& options) {
    return state_->start(PointToPoint{.out = data, .to = to, .tag = tag, .options = options});
}

Request Communicator::irecv(Buffer const& data, int from, int tag, CallOptions const& options) {
    return state_->start(PointToPoint{.in = data, .from = from, .tag = tag, .options = options});
}

}  // namespace sinew
