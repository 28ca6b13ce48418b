// SPDX-License-Identifier: Apache-2.0
// Which calls are posted, and what ends them before other calls.
#include "collectives/channel.hpp"
#include "src/comm/communicator_state.hpp"
#include "src/comm/memory/posted_calls.hpp"
#include "src/comm/memory/short_operands.hpp"

namespace sinew::detail {

namespace {

using node_memory::Room;

std::optional<ShortCall> short_allreduce(Room const& room, ShortKernels const& kernels,
                                         ConstBuffer in, Buffer out, ReduceOp const& op) {
    if (in.bytes() > Room::short_bytes) return std::nullopt;
    collectives::Kernel const kernel = kernels.for_result(in, out, op, room.size());
    if (kernel == nullptr) return std::nullopt;
    return ShortCall{.record = reduction_record(Collective::allreduce, in, op),
                     .in = bytes_of(in),
                     .out = bytes_of(out),
                     .bytes = in.bytes(),
                     .kernel = kernel};
}

std::optional<ShortCall> short_broadcast(Room const& room, Buffer data, int root) {
    if (data.bytes() > Room::short_bytes || root < 0 || root >= room.size() || !is_usable(data))
        return std::nullopt;
    return ShortCall{.record = movement_record(Collective::broadcast, data.count, data.type, root),
                     .in = bytes_of(data),
                     .out = bytes_of(data),
                     .bytes = data.bytes()};
}

}  // namespace

std::optional<Request> CommunicatorState::post(ShortCall const& call) {
    if (!posted_) posted_ = std::make_unique<PostedCalls>(*this);
    RequestState* const posted = posted_->post(call);
    if (posted == nullptr) return std::nullopt;
    return Request(std::shared_ptr<RequestState>(shared_from_this(), posted));
}

std::optional<ShortCall> CommunicatorState::short_call_of(Invocation const& call) const {
    switch (call.collective) {
        case Collective::allreduce:
            if (call.factor != 1) return std::nullopt;
            return short_allreduce(*room_, kernels_, call.in, call.out, call.op);
        case Collective::broadcast:
            return short_broadcast(*room_, call.out, call.root);
        case Collective::barrier:
            return ShortCall{.record = {.collective = Collective::barrier}};
        default:
            return std::nullopt;
    }
}

std::optional<Request> CommunicatorState::post_allreduce(ConstBuffer in, Buffer out,
                                                         ReduceOp const& op,
                                                         CallOptions const& options) {
    if (in.bytes() > Room::short_bytes || !may_use_room(options)) return std::nullopt;
    auto const call = short_allreduce(*room_, kernels_, in, out, op);
    return call ? post(*call) : std::nullopt;
}

std::optional<Request> CommunicatorState::post_broadcast(Buffer data, int root,
                                                         CallOptions const& options) {
    if (data.bytes() > Room::short_bytes || !may_use_room(options)) return std::nullopt;
    auto const call = short_broadcast(*room_, data, root);
    return call ? post(*call) : std::nullopt;
}

std::optional<Request> CommunicatorState::post_barrier(CallOptions const& options) {
    if (!may_use_room(options)) return std::nullopt;
    return post({.record = {.collective = Collective::barrier}});
}

void CommunicatorState::end_posted_calls(Operation* operation) {
    if (!posted_ || posted_->none()) return;
    posted_->progress();
    if (!posted_->none()) {
        ProgressPolicy policy(*transport_, detector_, *engine_, operation, settings_.deadlines,
                              pace(), true, [this] { return posted_->text(); });
        collectives::Channel channel(*transport_, policy, collective_tag);
        try {
            posted_->await_all(channel.waiter());
        } catch (...) {
            remember_loss(std::current_exception());
            posted_->fail();
            throw;
        }
    }
    throw_if_lost();
}

}  // namespace sinew::detail
