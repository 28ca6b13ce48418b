// SPDX-License-Identifier: Apache-2.0
// Blocking calls over the node's memory, in the caller's thread. A short one takes less than a
// microsecond, so they prepare nothing for messages: a policy and a channel are made only if a call
// waits for long. The shortest calls of three collectives also do without arguments and algorithm.
#include <array>
#include <cstring>
#include <optional>

#include "collectives/reducer.hpp"
#include "src/base/scope_exit.hpp"
#include "src/base/text.hpp"
#include "src/comm/collective/collective_execution.hpp"
#include "src/comm/collective/signature.hpp"
#include "src/comm/communicator_state.hpp"
#include "src/comm/device_memory.hpp"

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

}  // namespace

/// Holds the communicator for one call.
class CommunicatorState::MemoryCall final : public node_memory::Waiter {
public:
    /// `call` describes it in errors, if it is known.
    MemoryCall(CommunicatorState& state, Collective collective, CallOptions const& options,
               Invocation const* call = nullptr)
        : state_(state), collective_(collective), options_(options), call_(call) {
        state_.busy_.store(true, std::memory_order_relaxed);
        sequence_ = state_.detector_.enter(collective);
    }
    MemoryCall(MemoryCall const&) = delete;
    MemoryCall& operator=(MemoryCall const&) = delete;
    ~MemoryCall() override {
        state_.detector_.leave();
        state_.busy_.store(false, std::memory_order_release);
    }

    /// Returns whether a call may be performed like this now.
    static bool can_run(CommunicatorState const& state, CallOptions const& options) {
        // A pending call may be making the room, in another thread.
        return state.pending_.load(std::memory_order_acquire) == 0 && state.calls_over_memory_ &&
               !state.busy_.load(std::memory_order_relaxed) && !state.lost() &&
               options.timeout.count() == 0 && options.algorithm.empty();
    }

    int spins() const override { return state_.pace().memory_spins; }
    std::chrono::nanoseconds idle(int round, int peer) override {
        try {
            return slow().idle(round, peer);
        } catch (...) {
            state_.remember_loss(std::current_exception());
            throw;
        }
    }
    void refuse(int peer) override {
        try {
            slow().refuse(peer);
        } catch (...) {
            state_.remember_loss(std::current_exception());
            throw;
        }
    }

private:
    /// What a call needs that waits for long.
    struct Slow {
        explicit Slow(MemoryCall const& call)
            : policy(*call.state_.transport_, call.state_.detector_, *call.state_.engine_, nullptr,
                     call.state_.deadlines_of(call.options_), call.state_.pace(), true,
                     [&call] { return call.text_of_call(); }),
              channel(*call.state_.transport_, policy, collective_tag) {}
        ProgressPolicy policy;
        collectives::Channel channel;
    };

    std::string text_of_call() const {
        std::string const words = call_ != nullptr ? call_->text() : text(name(collective_), "()");
        return text(words, " #", sequence_);
    }
    node_memory::Waiter& slow() {
        if (!slow_) slow_.emplace(*this);
        return slow_->channel.waiter();
    }

    CommunicatorState& state_;
    Collective collective_;
    CallOptions const& options_;
    Invocation const* call_;
    std::uint64_t sequence_ = 0;
    std::optional<Slow> slow_;
};

bool CommunicatorState::allreduce_at_once(ConstBuffer in, Buffer out, ReduceOp const& op,
                                          CallOptions const& options) {
    std::size_t const bytes = in.bytes();
    if (bytes > Room::short_bytes || !MemoryCall::can_run(*this, options)) return false;
    Kernel const kernel = kernel_of(op, in.type);
    Room& room = *room_;
    if (kernel == nullptr || in.type != out.type || in.count != out.count || in.count == 0 ||
        in.data == nullptr || out.data == nullptr || room.size() > collectives::max_fused_inputs ||
        is_device_memory(in.data, bytes) || is_device_memory(out.data, bytes))
        return false;
    auto const* const from = static_cast<std::byte const*>(in.data);
    auto* const to = static_cast<std::byte*>(out.data);
    if (from != to && from < to + bytes && to < from + bytes) return false;

    MemoryCall call(*this, Collective::allreduce, options);
    room.sign(signature_of(Collective::allreduce, 0, bytes));
    room.begin();
    bool const inside = bytes <= Room::line_bytes;
    std::byte* const line = room.line(call);
    std::memcpy(inside ? line : room.short_slot(call), from, bytes);
    room.arrive(call);
    std::array<void const*, collectives::max_fused_inputs> inputs;
    for (int r = 0; r < room.size(); ++r)
        inputs[static_cast<std::size_t>(r)] = inside ? room.line_of(r) : room.short_slot_of(r);
    inputs[static_cast<std::size_t>(room.rank())] = from;
    kernel(to, inputs.data(), room.size(), in.count);
    return true;
}

bool CommunicatorState::broadcast_at_once(Buffer data, int root, CallOptions const& options) {
    std::size_t const bytes = data.bytes();
    if (bytes > Room::line_bytes || !MemoryCall::can_run(*this, options)) return false;
    Room& room = *room_;
    if (root < 0 || root >= room.size() || bytes == 0 || data.data == nullptr ||
        is_device_memory(data.data, bytes))
        return false;
    MemoryCall call(*this, Collective::broadcast, options);
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
    if (!MemoryCall::can_run(*this, options)) return false;
    MemoryCall call(*this, Collective::barrier, options);
    room_->sign(signature_of(Collective::barrier, 0, 0));
    room_->begin();
    room_->line(call);
    room_->arrive(call);
    return true;
}

bool CommunicatorState::run_at_once(Invocation const& call) {
    if (!MemoryCall::can_run(*this, call.options) || fault_of(call)) return false;
    if (call.reduces() && call.in.type.size() > room_->block()) return false;
    MemoryCall waiter(*this, call.collective, call.options, &call);
    ScopeExit const released([this] { scratch_.release(); });
    try {
        perform_over_memory(*room_, waiter, scratch_, call);
    } catch (...) {  // of a user's function, or there was no memory
        remember_loss(std::current_exception());
        throw;
    }
    return true;
}

}  // namespace sinew::detail
