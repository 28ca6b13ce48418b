// SPDX-License-Identifier: Apache-2.0
// Blocking calls over the node's memory, in the caller's thread. A short one takes less than a
// microsecond, so they prepare nothing for messages: a policy and a channel are made only if a call
// waits for long. Short calls of the common collectives also do without arguments and algorithm: they take the
// same steps as the algorithms in collectives/node, since another rank's call may not be so simple.
#include <array>
#include <cstring>
#include <optional>

#include "collectives/node/pairwise.hpp"
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
using collectives::node::await_ahead;
using collectives::node::NodeCall;
using collectives::node::publish_ahead;
using node_memory::Room;

/// The inputs of one kernel call, by rank.
using FewInputs = std::array<void const*, collectives::max_fused_inputs>;

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

/// Whether a buffer has bytes that the host can access.
bool is_usable(ConstBuffer const& buffer) {
    return buffer.count > 0 && buffer.data != nullptr &&
           !is_device_memory(buffer.data, buffer.bytes());
}

bool overlap(ConstBuffer const& a, ConstBuffer const& b) {
    auto const* const first = static_cast<std::byte const*>(a.data);
    auto const* const second = static_cast<std::byte const*>(b.data);
    return first < second + b.bytes() && second < first + a.bytes();
}

/// Whether `out` can take the result of a reduction of `in`: another buffer, or the same.
bool takes_result(ConstBuffer const& in, Buffer const& out) {
    return in.type == out.type && in.count == out.count && is_usable(out) &&
           (in.data == out.data || !overlap(in, out));
}

/// Whether the root's `whole` consists of a block like `own` for each rank. `own` is unused in place.
bool consists_of(ConstBuffer const& whole, ConstBuffer const& own, std::size_t ranks,
                 bool in_place) {
    if (!is_usable(whole)) return false;
    if (in_place) return whole.count % ranks == 0;
    return whole.type == own.type && whole.count == own.count * ranks && is_usable(own) &&
           !overlap(whole, own);
}

std::byte const* bytes_of(ConstBuffer const& buffer) {
    return static_cast<std::byte const*>(buffer.data);
}
std::byte* bytes_of(Buffer const& buffer) { return static_cast<std::byte*>(buffer.data); }

}  // namespace

/// Holds the communicator for one call.
class CommunicatorState::MemoryCall final : public node_memory::Waiter {
public:
    /// `call` describes it in errors, if it is known.
    MemoryCall(CommunicatorState& state, OperationRecord const& record, CallOptions const& options,
               Invocation const* call = nullptr)
        : state_(state), options_(options), call_(call) {
        state_.busy_.store(true, std::memory_order_relaxed);
        sequence_ = state_.log_.enter(record);
        // Reading the clock takes longer than a hundredth of a short call.
        constexpr std::uint64_t calls_per_clock = 64;
        if (sequence_ % calls_per_clock == 0) state_.log_.note_wait();
    }
    MemoryCall(MemoryCall const&) = delete;
    MemoryCall& operator=(MemoryCall const&) = delete;
    ~MemoryCall() override {
        state_.log_.leave();
        state_.busy_.store(false, std::memory_order_release);
    }

    /// Returns whether a call may be performed like this now.
    static bool can_run(CommunicatorState const& state, CallOptions const& options) {
        // A pending call may be making the room, in another thread.
        return state.pending_.load(std::memory_order_acquire) == 0 && state.calls_over_memory_ &&
               !state.busy_.load(std::memory_order_relaxed) && !state.lost() &&
               options.timeout.count() == 0 && options.algorithm.empty();
    }

    /// Begins an operation of the room. `bytes`: see signature_of.
    NodeCall begin(Collective collective, int root, std::size_t bytes) {
        static collectives::Arguments const none;
        state_.room_->sign(signature_of(collective, root, bytes));
        state_.room_->begin();
        return {*state_.room_, *this, none};
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
        auto const record = state_.log_.at(sequence_);
        return text(call_ != nullptr ? call_->text()
                    : record         ? record->text()
                                     : "",
                    " #", sequence_);
    }
    node_memory::Waiter& slow() {
        if (!slow_) {
            state_.log_.note_wait();
            slow_.emplace(*this);
        }
        return slow_->channel.waiter();
    }

    CommunicatorState& state_;
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
    if (kernel == nullptr || room.size() > collectives::max_fused_inputs || !is_usable(in) ||
        !takes_result(in, out))
        return false;

    MemoryCall call(*this,
                    {.count = in.count,
                     .collective = Collective::allreduce,
                     .type = in.type.kind(),
                     .op = static_cast<std::uint8_t>(op.kind())},
                    options);
    call.begin(Collective::allreduce, 0, bytes);
    bool const inside = bytes <= Room::line_bytes;
    std::byte* const line = room.line(call);
    std::memcpy(inside ? line : room.short_slot(call), in.data, bytes);
    room.arrive(call);
    FewInputs inputs;
    for (int r = 0; r < room.size(); ++r)
        inputs[static_cast<std::size_t>(r)] = inside ? room.line_of(r) : room.short_slot_of(r);
    inputs[static_cast<std::size_t>(room.rank())] = in.data;
    kernel(out.data, inputs.data(), room.size(), in.count);
    return true;
}

bool CommunicatorState::reduce_at_once(ConstBuffer in, Buffer out, ReduceOp const& op, int root,
                                       CallOptions const& options) {
    std::size_t const bytes = in.bytes();
    if (bytes > Room::short_bytes || !MemoryCall::can_run(*this, options)) return false;
    Kernel const kernel = kernel_of(op, in.type);
    Room& room = *room_;
    bool const at_root = room.rank() == root;
    if (kernel == nullptr || room.size() > collectives::max_fused_inputs || root < 0 ||
        root >= room.size() || !is_usable(in) || (at_root && !takes_result(in, out)))
        return false;

    MemoryCall call(*this,
                    {.count = in.count,
                     .root = root,
                     .collective = Collective::reduce,
                     .type = in.type.kind(),
                     .op = static_cast<std::uint8_t>(op.kind())},
                    options);
    NodeCall const node = call.begin(Collective::reduce, root, bytes);
    if (!at_root) {
        publish_ahead(node, {bytes_of(in), bytes});
    } else {
        FewInputs inputs;
        for (int step = 1; step < room.size(); ++step) {
            int const from = node.peer(step);
            inputs[static_cast<std::size_t>(from)] = await_ahead(node, from, bytes);
        }
        room.note_all_entered();
        inputs[static_cast<std::size_t>(root)] = in.data;
        kernel(out.data, inputs.data(), room.size(), in.count);
    }
    room.finish();
    return true;
}

bool CommunicatorState::scan_at_once(ConstBuffer in, Buffer out, ReduceOp const& op,
                                     CallOptions const& options) {
    std::size_t const bytes = in.bytes();
    if (bytes > Room::short_bytes || !MemoryCall::can_run(*this, options)) return false;
    Kernel const kernel = kernel_of(op, in.type);
    Room& room = *room_;
    if (kernel == nullptr || room.size() > collectives::max_fused_inputs || !is_usable(in) ||
        !takes_result(in, out))
        return false;

    MemoryCall call(*this,
                    {.count = in.count,
                     .collective = Collective::scan,
                     .type = in.type.kind(),
                     .op = static_cast<std::uint8_t>(op.kind())},
                    options);
    NodeCall const node = call.begin(Collective::scan, 0, bytes);
    int const rank = room.rank();
    if (rank + 1 < room.size()) publish_ahead(node, {bytes_of(in), bytes});
    FewInputs inputs;
    for (int r = 0; r < rank; ++r)
        inputs[static_cast<std::size_t>(r)] = await_ahead(node, r, bytes);
    inputs[static_cast<std::size_t>(rank)] = in.data;
    if (rank > 0) kernel(out.data, inputs.data(), rank + 1, in.count);
    else if (in.data != out.data) std::memcpy(out.data, in.data, bytes);
    room.finish();
    return true;
}

bool CommunicatorState::broadcast_at_once(Buffer data, int root, CallOptions const& options) {
    std::size_t const bytes = data.bytes();
    if (bytes > Room::short_bytes || !MemoryCall::can_run(*this, options)) return false;
    Room& room = *room_;
    if (root < 0 || root >= room.size() || !is_usable(data)) return false;
    MemoryCall call(*this,
                    {.count = data.count,
                     .root = root,
                     .collective = Collective::broadcast,
                     .type = data.type.kind()},
                    options);
    NodeCall const node = call.begin(Collective::broadcast, root, bytes);
    if (room.rank() == root) publish_ahead(node, {bytes_of(data), bytes});
    else std::memcpy(data.data, await_ahead(node, root, bytes), bytes);
    room.finish();
    return true;
}

bool CommunicatorState::gather_at_once(ConstBuffer in, Buffer out, bool in_place, int root,
                                       CallOptions const& options) {
    if (!MemoryCall::can_run(*this, options)) return false;
    Room& room = *room_;
    bool const at_root = room.rank() == root;
    auto const ranks = static_cast<std::size_t>(room.size());
    std::size_t const bytes = at_root ? out.bytes() / ranks : in.bytes();
    if (bytes > Room::short_bytes || root < 0 || root >= room.size() ||
        !(at_root ? consists_of(out, in, ranks, in_place) : is_usable(in)))
        return false;
    MemoryCall call(*this,
                    {.count = bytes / in.type.size(),
                     .root = root,
                     .collective = Collective::gather,
                     .type = in.type.kind()},
                    options);
    NodeCall const node = call.begin(Collective::gather, root, bytes * ranks);
    if (!at_root) {
        publish_ahead(node, {bytes_of(in), bytes});
    } else {
        auto const block = [&](int rank) {
            return bytes_of(out) + static_cast<std::size_t>(rank) * bytes;
        };
        if (!in_place) std::memcpy(block(root), in.data, bytes);
        for (int step = 1; step < room.size(); ++step) {
            int const from = node.peer(step);
            std::memcpy(block(from), await_ahead(node, from, bytes), bytes);
        }
        room.note_all_entered();
    }
    room.finish();
    return true;
}

bool CommunicatorState::scatter_at_once(ConstBuffer in, Buffer out, bool in_place, int root,
                                        CallOptions const& options) {
    if (!MemoryCall::can_run(*this, options)) return false;
    Room& room = *room_;
    bool const at_root = room.rank() == root;
    auto const ranks = static_cast<std::size_t>(room.size());
    std::size_t const bytes = at_root ? in.bytes() / ranks : out.bytes();
    if (bytes > collectives::node::short_part(room) || root < 0 || root >= room.size() ||
        !(at_root ? consists_of(in, out, ranks, in_place) : is_usable(out)))
        return false;
    MemoryCall call(*this,
                    {.count = bytes / out.type.size(),
                     .root = root,
                     .collective = Collective::scatter,
                     .type = out.type.kind()},
                    options);
    NodeCall const node = call.begin(Collective::scatter, root, bytes * ranks);
    if (at_root) {
        collectives::node::PairwiseSender(node, [&](int to) {
            return std::span(bytes_of(in) + static_cast<std::size_t>(to) * bytes, bytes);
        });
        if (!in_place)
            std::memcpy(out.data, bytes_of(in) + static_cast<std::size_t>(root) * bytes, bytes);
    } else {
        collectives::node::PairwiseReceiver(node, root, {bytes_of(out), bytes}).receive(0);
    }
    room.finish();
    return true;
}

bool CommunicatorState::barrier_at_once(CallOptions const& options) {
    if (!MemoryCall::can_run(*this, options)) return false;
    MemoryCall call(*this, {.collective = Collective::barrier}, options);
    call.begin(Collective::barrier, 0, 0);
    room_->line(call);
    room_->arrive(call);
    return true;
}

bool CommunicatorState::run_at_once(Invocation const& call) {
    if (!MemoryCall::can_run(*this, call.options) || fault_of(call)) return false;
    if (call.reduces() && call.in.type.size() > room_->block()) return false;
    OperationRecord record = record_of(call, room_->rank(), room_->size());
    constexpr std::size_t worth_a_clock = std::size_t{1} << 16;
    if (call.in.bytes() >= worth_a_clock)
        record.entered = static_cast<std::int64_t>(OperationLog::now());
    MemoryCall waiter(*this, record, call.options, &call);
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
