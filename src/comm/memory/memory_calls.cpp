// SPDX-License-Identifier: Apache-2.0
// Blocking calls over the node's memory, in the caller's thread. A short one takes less than a
// microsecond, so they prepare nothing for messages: a policy and a channel are made only if a call
// waits for long. The shortest calls of three collectives also do without arguments and algorithm,
// and their non-blocking forms without the engine.
#include <array>
#include <cstring>
#include <optional>

#include "collectives/reducer.hpp"
#include "src/base/scope_exit.hpp"
#include "src/base/text.hpp"
#include "src/comm/collective/collective_execution.hpp"
#include "src/comm/collective/signature.hpp"
#include "src/comm/communicator_state.hpp"
#include "src/comm/device/device_memory.hpp"
#include "src/comm/device/device_side.hpp"
#include "src/comm/memory/memory_waiter.hpp"
#include "src/comm/memory/posted_calls.hpp"

namespace sinew::detail {

namespace {

using collectives::Kernel;
using node_memory::Room;

/// The kernel of every predefined operation on every type; null if it is not defined there or needs
/// more than a kernel.
Kernel kernel_of(ReduceOp const& op, DataType type) {
    constexpr std::size_t types = DataType::kinds;
    using Table = std::array<std::array<Kernel, types>, ReduceOp::kinds>;
    static Table const table = [] {
        Table kernels{};
        for (std::size_t k = 0; k < kernels.size(); ++k)
            for (std::size_t t = 0; t < types; ++t)
                kernels[k][t] = collectives::predefined_kernel(static_cast<ReduceOp::Kind>(k),
                                                               static_cast<DataType::Kind>(t));
        return kernels;
    }();
    return table[static_cast<std::size_t>(op.kind())][static_cast<std::size_t>(type.kind())];
}

/// Whether an allreduce is short and needs nothing but a kernel, which is returned; else null.
Kernel kernel_for_short(Room const& room, ConstBuffer in, Buffer out, ReduceOp const& op) {
    std::size_t const bytes = in.bytes();
    if (in.type != out.type || in.count != out.count || in.count == 0 || in.data == nullptr ||
        out.data == nullptr || room.size() > collectives::max_fused_inputs ||
        is_device_memory(in.data, bytes) || is_device_memory(out.data, bytes))
        return nullptr;
    auto const* const from = static_cast<std::byte const*>(in.data);
    auto const* const to = static_cast<std::byte const*>(out.data);
    if (from != to && from < to + bytes && to < from + bytes) return nullptr;
    return kernel_of(op, in.type);
}

bool is_short_broadcast(Room const& room, Buffer data, int root) {
    return root >= 0 && root < room.size() && data.bytes() > 0 && data.data != nullptr &&
           !is_device_memory(data.data, data.bytes());
}

OperationRecord allreduce_record(ConstBuffer in, ReduceOp const& op) {
    return {.count = in.count,
            .collective = Collective::allreduce,
            .type = in.type.kind(),
            .op = static_cast<std::uint8_t>(op.kind())};
}

OperationRecord broadcast_record(Buffer data, int root) {
    return {.count = data.count,
            .root = root,
            .collective = Collective::broadcast,
            .type = data.type.kind()};
}

std::optional<ShortCall> short_allreduce(Room const& room, ConstBuffer in, Buffer out,
                                         ReduceOp const& op) {
    if (in.bytes() > Room::short_bytes) return std::nullopt;
    Kernel const kernel = kernel_for_short(room, in, out, op);
    if (kernel == nullptr) return std::nullopt;
    return ShortCall{.record = allreduce_record(in, op),
                     .in = static_cast<std::byte const*>(in.data),
                     .out = static_cast<std::byte*>(out.data),
                     .bytes = in.bytes(),
                     .kernel = kernel};
}

std::optional<ShortCall> short_broadcast(Room const& room, Buffer data, int root) {
    if (data.bytes() > Room::short_bytes || !is_short_broadcast(room, data, root))
        return std::nullopt;
    return ShortCall{.record = broadcast_record(data, root),
                     .in = static_cast<std::byte const*>(data.data),
                     .out = static_cast<std::byte*>(data.data),
                     .bytes = data.bytes()};
}

}  // namespace

/// Holds the communicator for one call.
class CommunicatorState::MemoryCall final : public MemoryWaiter {
public:
    /// `call` describes it in errors, if it is known.
    MemoryCall(CommunicatorState& state, OperationRecord const& record,
               Invocation const* call = nullptr)
        : MemoryWaiter(state), call_(call) {
        state.busy_.store(true, std::memory_order_relaxed);
        sequence_ = state.log_.enter(record);
        if (sequence_ % OperationLog::calls_per_clock == 0) state.log_.note_wait();
    }
    ~MemoryCall() override {
        state().log_.leave();
        state().busy_.store(false, std::memory_order_release);
    }

protected:
    std::string text_of_call() const override {
        auto const record = state().log_.at(sequence_);
        return text(call_ != nullptr ? call_->text()
                    : record         ? record->text()
                                     : "",
                    " #", sequence_);
    }

private:
    Invocation const* call_;
    std::uint64_t sequence_ = 0;
};

bool CommunicatorState::may_use_room(CallOptions const& options) const {
    // A pending call may be making the room, in another thread.
    return pending_.load(std::memory_order_acquire) == 0 && calls_over_memory_ &&
           !busy_.load(std::memory_order_relaxed) && !lost() && options.timeout.count() == 0 &&
           options.algorithm.empty() && options.stream == nullptr &&
           options.memory != Memory::device;
}

bool CommunicatorState::can_run_at_once(CallOptions const& options) {
    if (!may_use_room(options)) return false;
    end_posted_calls(nullptr);
    return true;
}

bool CommunicatorState::allreduce_at_once(ConstBuffer in, Buffer out, ReduceOp const& op,
                                          CallOptions const& options) {
    std::size_t const bytes = in.bytes();
    if (bytes > Room::short_bytes || !can_run_at_once(options)) return false;
    Room& room = *room_;
    Kernel const kernel = kernel_for_short(room, in, out, op);
    if (kernel == nullptr) return false;

    MemoryCall call(*this, allreduce_record(in, op));
    room.sign(signature_of(Collective::allreduce, 0, bytes));
    room.begin();
    bool const inside = bytes <= Room::line_bytes;
    std::byte* const line = room.line(call);
    std::memcpy(inside ? line : room.short_slot(call), in.data, bytes);
    room.publish_line();
    room.await_lines(call);
    std::array<void const*, collectives::max_fused_inputs> inputs;
    for (int r = 0; r < room.size(); ++r)
        inputs[static_cast<std::size_t>(r)] = inside ? room.line_of(r) : room.short_slot_of(r);
    inputs[static_cast<std::size_t>(room.rank())] = in.data;
    kernel(out.data, inputs.data(), room.size(), in.count);
    room.finish_together();
    return true;
}

bool CommunicatorState::broadcast_at_once(Buffer data, int root, CallOptions const& options) {
    std::size_t const bytes = data.bytes();
    if (bytes > Room::line_bytes || !can_run_at_once(options)) return false;
    Room& room = *room_;
    if (!is_short_broadcast(room, data, root)) return false;
    MemoryCall call(*this, broadcast_record(data, root));
    room.sign(signature_of(Collective::broadcast, root, bytes));
    room.begin();
    bool const small = bytes <= Room::cell_bytes;
    if (room.rank() == root) {
        std::memcpy(small ? room.cell(call) : room.line(call), data.data, bytes);
        small ? room.publish_cell() : room.publish_line();
    } else {
        small ? room.await_cell(call, root) : room.await_line(call, root);
        std::memcpy(data.data, small ? room.cell_of(root) : room.line_of(root), bytes);
    }
    room.finish();
    return true;
}

bool CommunicatorState::barrier_at_once(CallOptions const& options) {
    if (!can_run_at_once(options)) return false;
    MemoryCall call(*this, {.collective = Collective::barrier});
    room_->sign(signature_of(Collective::barrier, 0, 0));
    room_->begin();
    room_->line(call);
    room_->publish_line();
    room_->await_lines(call);
    room_->finish_together();
    return true;
}

bool CommunicatorState::run_at_once(Invocation const& call) {
    if (!can_run_at_once(call.options)) return false;
    std::shared_ptr<DeviceSide const> device;
    if (fault_of(call, Returns::when_done, device) || device) return false;
    if (call.reduces() && call.in.type.size() > room_->block()) return false;
    OperationRecord record = record_of(call, room_->rank(), room_->size());
    constexpr std::size_t worth_a_clock = std::size_t{1} << 16;
    if (call.in.bytes() >= worth_a_clock)
        record.entered = static_cast<std::int64_t>(OperationLog::now());
    MemoryCall waiter(*this, record, &call);
    ScopeExit const released([this] { scratch_.release(); });
    try {
        perform_over_memory(*room_, waiter, scratch_, call);
    } catch (...) {  // of a user's function, or there was no memory
        remember_loss(std::current_exception());
        throw;
    }
    return true;
}

std::optional<Request> CommunicatorState::post(ShortCall const& call) {
    if (!posted_) posted_ = std::make_unique<PostedCalls>(*this);
    RequestState* const posted = posted_->post(call);
    if (posted == nullptr) return std::nullopt;
    return Request(std::shared_ptr<RequestState>(shared_from_this(), posted));
}

std::optional<ShortCall> CommunicatorState::short_call_of(Invocation const& call) const {
    switch (call.collective) {
        case Collective::allreduce:
            return short_allreduce(*room_, call.in, call.out, call.op);
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
    auto const call = short_allreduce(*room_, in, out, op);
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
