// SPDX-License-Identifier: Apache-2.0
// Blocking calls over the node's memory, in the caller's thread. A short one takes less than a
// microsecond, so they prepare nothing for messages: a policy and a channel are made only if a call
// waits for long. Short calls of the common collectives also do without arguments and algorithm: they
// take the same steps as the algorithms in collectives/node, since another rank's call may not be so
// simple.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "collectives/kernels/copy.hpp"
#include "collectives/kernels/demote.hpp"
#include "collectives/node/pairwise.hpp"
#include "src/base/scope_exit.hpp"
#include "src/base/text.hpp"
#include "src/comm/collective/collective_execution.hpp"
#include "src/comm/collective/signature.hpp"
#include "src/comm/communicator_state.hpp"
#include "src/comm/device/device_side.hpp"
#include "src/comm/memory/memory_waiter.hpp"
#include "src/comm/memory/short_operands.hpp"

namespace sinew::detail {

namespace {

using collectives::Kernel;
namespace kernels = collectives::kernels;
using collectives::node::await_ahead;
using collectives::node::EqualParts;
using collectives::node::NodeCall;
using collectives::node::publish_ahead;
using node_memory::Room;

/// The inputs of one kernel call, by rank.
using FewInputs = std::array<void const*, collectives::max_fused_inputs>;

/// A message of this rank that the others read when its line has arrived, during one call, which it times if
/// that is wanted.
class ShortMessage {
public:
    /// Begins the operation's line, and a short slot if the message does not fit in it.
    [[gnu::always_inline]] ShortMessage(Room& room, node_memory::Waiter& waiter, std::size_t bytes)
        : room_(room), bytes_(bytes), inside_(bytes <= Room::line_bytes) {
        to_ = room.line(waiter);
        if (inside_) return;
        to_ = room.short_slot(waiter, bytes);
        if (room.size() == 2 && kernels::knows_demote())
            way_ = room.demotes.begin(room.operation(), bytes);
        if (way_.timed) [[unlikely]]
            start_ = std::chrono::steady_clock::now();
    }
    ShortMessage(ShortMessage const&) = delete;
    ~ShortMessage() {
        if (!way_.timed) [[likely]]
            return;
        std::chrono::duration<float> const took = std::chrono::steady_clock::now() - start_;
        room_.demotes.report(way_, bytes_, took.count());
    }

    /// Stores a part of it, `at` bytes after its begin.
    [[gnu::always_inline]] void store(std::byte const* from, std::size_t bytes,
                                      std::size_t at = 0) const {
        if (inside_) kernels::copy_in_line(to_ + at, from, bytes);
        else if (way_.other) kernels::copy_demoting(to_ + at, from, bytes);
        else std::memcpy(to_ + at, from, bytes);
    }
    /// The one of a rank. Requires: its line has arrived.
    [[gnu::always_inline]] std::byte const* of(int rank) const {
        return inside_ ? room_.line_of(rank) : room_.short_slot_of(rank, bytes_);
    }

private:
    Room& room_;
    std::size_t bytes_;
    bool inside_;
    std::byte* to_;
    node_memory::ShortStoreChoice::Way way_;
    std::chrono::steady_clock::time_point start_;
};

bool has_rank(Room const& room, int root) { return root >= 0 && root < room.size(); }

}  // namespace

/// Holds the communicator for one call. `Record` makes its OperationRecord.
template <class Record>
class CommunicatorState::MemoryCall final : public MemoryWaiter {
public:
    /// `call` describes it in errors, if it is known.
    [[gnu::always_inline]] MemoryCall(CommunicatorState& state, Record const& record,
                                      Invocation const* call = nullptr)
        : MemoryWaiter(state), record_(record), call_(call) {
        state.busy_.store(true, std::memory_order_relaxed);
    }
    [[gnu::always_inline]] ~MemoryCall() override {
        record_once();
        state().log_.leave();
        state().busy_.store(false, std::memory_order_release);
    }

    /// Records that this rank is in the call, when it has published its message: the other ranks need not wait for the record, nor for
    /// its making. A call that waits for long before that records it then. A call of its own: a rank that looks earlier for the others'
    /// messages just misses them more often (allgather of 256 B between near cores: 66 ns so, 94 compiled in).
    [[gnu::noinline]] void enter() noexcept { record_once(); }

    /// Begins an operation of the room. `bytes`: see signature_of.
    [[gnu::always_inline]] NodeCall begin(Room& room, Collective collective, int root,
                                          std::size_t bytes) {
        static collectives::Arguments const none;
        room.sign(signature_of(collective, root, bytes));
        collectives::node::begin(room, collective);
        return {room, *this, none};
    }

protected:
    void note_wait() override {
        enter();
        MemoryWaiter::note_wait();
    }
    std::string text_of_call() const override {
        auto const record = state().log_.at(sequence_);
        return text(call_ != nullptr ? call_->text()
                    : record         ? record->text()
                                     : "",
                    " #", sequence_);
    }

private:
    /// Without a call, for the sake of ranks that wait for nobody: see publish_ahead.
    [[gnu::always_inline]] void record_once() noexcept {
        if (sequence_ != 0) return;
        sequence_ = state().log_.enter(record_());
        if (sequence_ % OperationLog::calls_per_clock == 0) state().log_.note_wait();
    }

    Record record_;
    Invocation const* call_;
    std::uint64_t sequence_ = 0;  // not yet recorded
};

bool CommunicatorState::allreduce_at_once(ConstBuffer const& in, Buffer const& out,
                                          ReduceOp const& op, CallOptions const& options) {
    std::size_t const bytes = in.bytes();
    if (bytes > Room::short_bytes || !can_run_at_once(options)) return false;
    Room& room = *room_;
    bool const averages = op.kind() == ReduceOp::Kind::average && in.type.is_floating();
    Kernel const kernel = kernels_.for_result(in, out, averages ? sum : op, room.size());
    if (kernel == nullptr) return false;

    MemoryCall call(*this, [&] { return reduction_record(Collective::allreduce, in, op); });
    call.begin(room, Collective::allreduce, 0, bytes);
    ShortMessage const message(room, call, bytes);
    message.store(bytes_of(in), bytes);
    room.publish_arrival();
    call.enter();
    collectives::node::await_arrivals_to_reduce(room, call);
    auto const combine = [&] {
        FewInputs inputs;
        for (int r = 0; r < room.size(); ++r) inputs[static_cast<std::size_t>(r)] = message.of(r);
        inputs[static_cast<std::size_t>(room.rank())] = in.data;
        kernel(out.data, inputs.data(), room.size(), in.count);
        if (averages)
            collectives::Completion::divide_by(room.size()).apply(out.data, in.count, in.type);
    };
    bool const may_copy = bytes > Room::line_bytes;
    collectives::node::combine_for_all(room, call, {bytes_of(out), bytes}, combine, may_copy);
    room.finish_together();
    return true;
}

bool CommunicatorState::reduce_at_once(ConstBuffer const& in, Buffer const& out, ReduceOp const& op,
                                       int root, CallOptions const& options) {
    std::size_t const bytes = in.bytes();
    if (bytes > Room::short_bytes || !can_run_at_once(options)) return false;
    Kernel const kernel = kernels_.of(op, in.type);
    Room& room = *room_;
    bool const at_root = room.rank() == root;
    if (kernel == nullptr || room.size() > collectives::max_fused_inputs || !has_rank(room, root) ||
        !is_usable(in) || (at_root && !takes_result(in, out)))
        return false;

    MemoryCall call(*this, [&] { return reduction_record(Collective::reduce, in, op, root); });
    NodeCall const node = call.begin(room, Collective::reduce, root, bytes);
    if (!at_root) {
        publish_ahead(room, call, {bytes_of(in), bytes});
    } else {
        FewInputs inputs;
        for (int step = 1; step < room.size(); ++step) {
            int const from = node.peer(step);
            inputs[static_cast<std::size_t>(from)] = await_ahead(room, call, from, bytes);
        }
        room.note_all_entered();
        inputs[static_cast<std::size_t>(root)] = in.data;
        kernel(out.data, inputs.data(), room.size(), in.count);
    }
    room.finish();
    return true;
}

bool CommunicatorState::scan_at_once(ConstBuffer const& in, Buffer const& out, ReduceOp const& op,
                                     CallOptions const& options) {
    std::size_t const bytes = in.bytes();
    if (bytes > Room::short_bytes || !can_run_at_once(options)) return false;
    Room& room = *room_;
    Kernel const kernel = kernels_.for_result(in, out, op, room.size());
    if (kernel == nullptr) return false;

    MemoryCall call(*this, [&] { return reduction_record(Collective::scan, in, op); });
    call.begin(room, Collective::scan, 0, bytes);
    int const rank = room.rank();
    if (rank + 1 < room.size()) publish_ahead(room, call, {bytes_of(in), bytes});
    FewInputs inputs;
    for (int r = 0; r < rank; ++r)
        inputs[static_cast<std::size_t>(r)] = await_ahead(room, call, r, bytes);
    inputs[static_cast<std::size_t>(rank)] = in.data;
    if (rank > 0) kernel(out.data, inputs.data(), rank + 1, in.count);
    else if (in.data != out.data) std::memcpy(out.data, in.data, bytes);
    room.finish();
    return true;
}

bool CommunicatorState::broadcast_at_once(Buffer const& data, int root,
                                          CallOptions const& options) {
    std::size_t const bytes = data.bytes();
    if (bytes > Room::short_bytes || !can_run_at_once(options)) return false;
    Room& room = *room_;
    if (!has_rank(room, root) || !is_usable(data)) return false;
    MemoryCall call(
        *this, [&] { return movement_record(Collective::broadcast, data.count, data.type, root); });
    call.begin(room, Collective::broadcast, root, bytes);
    if (room.rank() == root) publish_ahead(room, call, {bytes_of(data), bytes});
    else std::memcpy(data.data, await_ahead(room, call, root, bytes), bytes);
    room.finish();
    return true;
}

bool CommunicatorState::gather_at_once(ConstBuffer const& in, Buffer const& out, bool in_place,
                                       int root, CallOptions const& options) {
    if (!can_run_at_once(options)) return false;
    Room& room = *room_;
    bool const at_root = room.rank() == root;
    auto const ranks = static_cast<std::size_t>(room.size());
    std::size_t const bytes = at_root ? out.bytes() / ranks : in.bytes();
    if (bytes > Room::short_bytes || !has_rank(room, root) ||
        !(at_root ? consists_of(out, in, ranks, in_place) : is_usable(in)))
        return false;
    MemoryCall call(*this, [&] {
        return movement_record(Collective::gather, bytes / in.type.size(), in.type, root);
    });
    NodeCall const node = call.begin(room, Collective::gather, root, bytes * ranks);
    if (!at_root) {
        publish_ahead(room, call, {bytes_of(in), bytes});
    } else {
        auto const block = [&](int rank) {
            return bytes_of(out) + static_cast<std::size_t>(rank) * bytes;
        };
        if (!in_place) std::memcpy(block(root), in.data, bytes);
        for (int step = 1; step < room.size(); ++step) {
            int const from = node.peer(step);
            std::memcpy(block(from), await_ahead(room, call, from, bytes), bytes);
        }
        room.note_all_entered();
    }
    room.finish();
    return true;
}

bool CommunicatorState::scatter_at_once(ConstBuffer const& in, Buffer const& out, bool in_place,
                                        int root, CallOptions const& options) {
    if (!can_run_at_once(options)) return false;
    Room& room = *room_;
    bool const at_root = room.rank() == root;
    auto const ranks = static_cast<std::size_t>(room.size());
    std::size_t const bytes = at_root ? in.bytes() / ranks : out.bytes();
    if (bytes > collectives::node::short_part(room) || !has_rank(room, root) ||
        !(at_root ? consists_of(in, out, ranks, in_place) : is_usable(out)))
        return false;
    MemoryCall call(*this, [&] {
        return movement_record(Collective::scatter, bytes / out.type.size(), out.type, root);
    });
    NodeCall const node = call.begin(room, Collective::scatter, root, bytes * ranks);
    auto const block = [&](int to) { return bytes_of(in) + static_cast<std::size_t>(to) * bytes; };
    bool const one = collectives::node::is_one_message(room, bytes);
    if (at_root) {
        if (one) publish_ahead(room, call, {block(node.peer(1)), bytes});
        else EqualParts(room, bytes).publish(node, block);
        if (!in_place) std::memcpy(out.data, block(root), bytes);
    } else if (one) {
        std::memcpy(out.data, await_ahead(room, call, root, bytes), bytes);
    } else {
        EqualParts(room, bytes).receive(node, root, bytes_of(out));
    }
    room.finish();
    return true;
}

bool CommunicatorState::allgather_at_once(ConstBuffer const& in, Buffer const& out, bool in_place,
                                          CallOptions const& options) {
    if (!can_run_at_once(options)) return false;
    Room& room = *room_;
    auto const ranks = static_cast<std::size_t>(room.size());
    std::size_t const bytes = in_place ? out.bytes() / ranks : in.bytes();
    if (bytes > Room::short_bytes || !consists_of(out, in, ranks, in_place)) return false;
    MemoryCall call(*this, [&] {
        return movement_record(Collective::allgather, bytes / out.type.size(), out.type, -1);
    });
    NodeCall const node = call.begin(room, Collective::allgather, 0, bytes * ranks);
    auto const block = [&](int rank) {
        return bytes_of(out) + static_cast<std::size_t>(rank) * bytes;
    };
    std::byte const* const own = in_place ? block(room.rank()) : bytes_of(in);
    ShortMessage const message(room, call, bytes);
    message.store(own, bytes);
    room.publish_line();
    call.enter();
    if (!in_place) std::memcpy(block(room.rank()), own, bytes);
    // Shorter messages come with their lines; longer ones have come when this rank's block is copied.
    constexpr std::size_t longest_awaited = 1024;
    if (room.size() == 2 && bytes > Room::line_bytes && bytes <= longest_awaited)
        node_memory::wait_a_moment();
    room.await_lines_if_crowded(call);
    for (int step = 1; step < room.size(); ++step) {
        int const from = node.peer(step);
        room.await_line(call, from);
        std::memcpy(block(from), message.of(from), bytes);
    }
    room.note_all_entered();
    return true;
}

bool CommunicatorState::alltoall_at_once(ConstBuffer const& in, Buffer const& out,
                                         CallOptions const& options) {
    if (!can_run_at_once(options)) return false;
    Room& room = *room_;
    auto const ranks = static_cast<std::size_t>(room.size());
    std::size_t const bytes = in.bytes() / ranks;
    if (bytes > collectives::node::short_part(room) || in.count % ranks != 0 || !is_usable(in) ||
        in.data == out.data || !takes_result(in, out))
        return false;
    MemoryCall call(*this, [&] {
        return movement_record(Collective::alltoall, in.count / ranks, in.type, -1);
    });
    NodeCall const node = call.begin(room, Collective::alltoall, 0, in.bytes());
    auto const part = [&](int rank) { return static_cast<std::size_t>(rank) * bytes; };
    EqualParts const parts(room, bytes);
    parts.publish(node, [&](int to) { return bytes_of(in) + part(to); });
    call.enter();
    std::memcpy(bytes_of(out) + part(room.rank()), bytes_of(in) + part(room.rank()), bytes);
    room.await_lines_if_crowded(call);
    for (int step = 1; step < room.size(); ++step) {
        int const from = node.peer(step);
        parts.receive(node, from, bytes_of(out) + part(from));
    }
    room.note_all_entered();
    return true;
}

bool CommunicatorState::reduce_scatter_at_once(Collective collective, ConstBuffer const& in,
                                               Buffer const& out,
                                               std::span<std::size_t const> counts,
                                               ReduceOp const& op, CallOptions const& options) {
    std::size_t const total = in.bytes();
    if (total > Room::short_bytes || !can_run_at_once(options)) return false;
    Kernel const kernel = kernels_.of(op, in.type);
    Room& room = *room_;
    int const ranks = room.size(), rank = room.rank();
    if (kernel == nullptr || ranks > collectives::max_fused_inputs || !is_usable(in) ||
        !is_usable(out) || out.type != in.type || overlap(in, out))
        return false;
    // Without counts, all blocks are equal.
    bool const equal = collective == Collective::reduce_scatter_block;
    if (!equal && counts.size() != static_cast<std::size_t>(ranks)) return false;
    auto const count = [&](int r) {
        return equal ? out.count : counts[static_cast<std::size_t>(r)];
    };
    auto const block = [&](int r) { return count(r) * in.type.size(); };
    std::size_t before = 0, smallest = out.bytes();
    if (equal) {
        if (out.count > in.count || out.bytes() * static_cast<std::size_t>(ranks) != total)
            return false;
        before = static_cast<std::size_t>(rank) * out.bytes();
    } else {
        std::size_t all = 0;
        for (int r = 0; r < ranks; ++r) {
            if (count(r) > in.count) return false;  // the bytes below might wrap around
            if (r == rank) before = all;
            all += block(r);
            smallest = std::min(smallest, block(r));
        }
        if (all != total || block(rank) != out.bytes()) return false;
    }

    MemoryCall call(*this, [&] { return reduction_record(collective, in, op); });
    call.begin(room, collective, 0, total);
    ShortMessage const message(room, call, total - smallest);  // the most that a rank publishes
    // Without this rank's own block.
    message.store(bytes_of(in), before);
    message.store(bytes_of(in) + before + out.bytes(), total - before - out.bytes(), before);
    room.publish_arrival();
    call.enter();
    collectives::node::await_arrivals_to_reduce(room, call);
    FewInputs inputs;
    for (int r = 0; r < ranks; ++r)
        inputs[static_cast<std::size_t>(r)] = message.of(r) + before - (r < rank ? block(r) : 0);
    inputs[static_cast<std::size_t>(rank)] = bytes_of(in) + before;
    kernel(out.data, inputs.data(), ranks, out.count);
    room.finish_together();
    return true;
}

bool CommunicatorState::reduce_scatter_at_once(ConstBuffer const& in, Buffer const& out,
                                               Parts const& parts, ReduceOp const& op,
                                               CallOptions const& options) {
    return parts.offsets.empty() &&
           reduce_scatter_at_once(Collective::reduce_scatter, in, out, parts.counts, op, options);
}

bool CommunicatorState::reduce_scatter_block_at_once(ConstBuffer const& in, Buffer const& out,
                                                     ReduceOp const& op,
                                                     CallOptions const& options) {
    return reduce_scatter_at_once(Collective::reduce_scatter_block, in, out, {}, op, options);
}

bool CommunicatorState::barrier_at_once(CallOptions const& options) {
    if (!can_run_at_once(options)) return false;
    MemoryCall call(*this, [] { return OperationRecord{.collective = Collective::barrier}; });
    call.begin(*room_, Collective::barrier, 0, 0);
    room_->line(call);
    room_->publish_arrival();
    call.enter();
    room_->await_arrivals(call);
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
    MemoryCall waiter(
        *this, [&record]() -> OperationRecord const& { return record; }, &call);
    waiter.enter();
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
