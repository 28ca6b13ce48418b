// SPDX-License-Identifier: Apache-2.0
#include "src/comm/collective/collective_execution.hpp"

#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

#include <sinew/error.hpp>

#include "collectives/algorithms.hpp"
#include "collectives/node/node_call.hpp"
#include "collectives/schedule/lent_buffer.hpp"
#include "collectives/schedule/past_cache.hpp"
#include "src/base/text.hpp"
#include "src/comm/collective/signature.hpp"

namespace sinew::detail {

namespace {

using collectives::Arguments;
using collectives::Blocks;
using collectives::Shape;
using C = Collective;

void copy_bytes(std::byte* to, std::byte const* from, std::size_t bytes) {
    if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
}

/// Prepares the arguments of the algorithms, and completes their results.
class CollectiveExecution {
public:
    CollectiveExecution(int rank, int size, collectives::Scratch& scratch, Invocation const& call)
        : scratch_(scratch), call_(call), rank_(rank), size_(static_cast<std::size_t>(size)),
          element_(call.in.type.size()) {
        if (!reads()) element_ = call.out.type.size();
        args_.in = static_cast<std::byte const*>(call.in.data);
        args_.out = static_cast<std::byte*>(call.out.data);
        args_.element = element_;
        args_.root = call.root;
        args_.scratch = &scratch;
        shape_.ranks = size;
    }

    /// Calls `algorithm(arguments, shape)`, which runs it.
    template <class Run>
    void run(Run const& algorithm) {
        prepare();
        if (call_.reduces()) {
            collectives::Reducer const reduce(call_.op, call_.in.type);
            args_.reduce = &reduce;
            shape_.commutative = reduce.commutative();
            shape_.symmetric = call_.op.kind() != ReduceOp::Kind::user;
            algorithm(args_, shape_);
        } else {
            algorithm(args_, shape_);
        }
        finish();
    }

    /// To be called if the algorithm is the one over the memory of a node: it completes sums where it combines
    /// the last input, while they are in the cache. So it must do so on all ranks.
    void complete_in_algorithm() {
        if (call_.collective != C::scan && call_.collective != C::exscan)
            args_.completion = completion();
    }

private:
    bool at_root() const { return rank_ == call_.root; }
    bool reads() const {
        return !(call_.collective == C::scatter || call_.collective == C::scatterv) || at_root();
    }
    std::size_t bytes(std::size_t count) const { return count * element_; }

    Blocks cut(Parts const& parts) {
        if (!parts.offsets.empty()) return Blocks::listed(parts.counts, parts.offsets, element_);
        auto const packed = scratch_.take_array<std::size_t>(size_);
        std::exclusive_scan(parts.counts.begin(), parts.counts.end(), packed.begin(),
                            std::size_t{0});
        return Blocks::listed(parts.counts, packed, element_);
    }
    void equal_blocks(std::size_t count_of_one) {
        args_.count = count_of_one;
        args_.blocks = Blocks::equal(count_of_one, element_);
        shape_.count = count_of_one * size_;
        shape_.bytes = bytes(shape_.count);
    }
    void whole(std::size_t count) {
        args_.count = shape_.count = count;
        shape_.bytes = bytes(count);
    }
    std::byte* own_out() const { return args_.out + args_.blocks[rank_].offset; }

    void prepare() {
        switch (call_.collective) {
            case C::allreduce:
            case C::reduce:
            case C::scan:
            case C::exscan:
                whole(call_.in.count);
                break;
            case C::broadcast:
                whole(call_.out.count);
                break;
            case C::reduce_scatter_block:
                prepare_reduce_scatter_block();
                break;
            case C::reduce_scatter:
                prepare_reduce_scatter();
                break;
            case C::allgather:
                equal_blocks(call_.in_place ? call_.out.count / size_ : call_.in.count);
                place_own_block();
                if (call_.in_place) args_.in = own_out();
                break;
            case C::allgatherv:
                prepare_allgatherv();
                break;
            case C::gather:
                equal_blocks(call_.in_place && at_root() ? call_.out.count / size_
                                                         : call_.in.count);
                if (at_root()) place_own_block();
                break;
            case C::gatherv:
                if (at_root()) {
                    args_.blocks = cut(call_.parts);
                    place_own_block();
                } else {
                    args_.count = call_.in.count;
                }
                break;
            case C::scatter:
                equal_blocks(at_root() && call_.in_place ? call_.in.count / size_
                                                         : call_.out.count);
                if (at_root()) take_own_block();
                break;
            case C::scatterv:
                if (at_root()) {
                    args_.blocks = cut(call_.parts);
                    take_own_block();
                } else {
                    args_.count = call_.out.count;
                }
                break;
            case C::alltoall:
                prepare_alltoall();
                break;
            case C::alltoallv:
                prepare_alltoallv();
                break;
            case C::barrier:
                break;
        }
    }

    void prepare_reduce_scatter_block() {
        equal_blocks(call_.in.count / size_);
        if (call_.in_place) args_.out = scratch_.take(bytes(args_.count)).data();
    }
    void prepare_reduce_scatter() {
        args_.blocks = cut(call_.parts);
        sum_counts();
        if (call_.in_place) args_.out = scratch_.take(args_.blocks[rank_].bytes).data();
    }
    void prepare_allgatherv() {
        args_.blocks = cut(call_.parts);
        sum_counts();
        place_own_block();
        if (call_.in_place) args_.in = own_out();
    }
    void prepare_alltoall() {
        equal_blocks(call_.in.count / size_);
        args_.sent = args_.blocks;
        if (call_.in_place) copy_input();
    }
    void prepare_alltoallv() {
        args_.blocks = cut(call_.parts);
        // Sizes differ between ranks, so the choice of the algorithm must not depend on them.
        if (call_.in_place) {
            args_.sent = args_.blocks;
            copy_input();
        } else {
            args_.sent = cut(call_.sent);
        }
    }

    void sum_counts() {
        shape_.count =
            std::accumulate(call_.parts.counts.begin(), call_.parts.counts.end(), std::size_t{0});
        shape_.bytes = bytes(shape_.count);
    }
    void place_own_block() {
        if (!call_.in_place) collectives::place_own_block(own_out(), {args_.in, call_.in.bytes()});
    }
    void take_own_block() {
        if (!call_.in_place)
            copy_bytes(args_.out, args_.in + args_.blocks[rank_].offset, args_.blocks[rank_].bytes);
    }
    void copy_input() {
        auto const room = scratch_.take(call_.in.bytes());
        copy_bytes(room.data(), args_.in, room.size());
        args_.in = room.data();
    }

    void finish() {
        bool const scatters =
            call_.collective == C::reduce_scatter || call_.collective == C::reduce_scatter_block;
        if (scatters && call_.in_place)
            copy_bytes(static_cast<std::byte*>(call_.out.data), args_.out,
                       args_.blocks[rank_].bytes);
        if (args_.completion.exists() || !completion().exists() || !has_result()) return;
        std::size_t const count = scatters ? args_.blocks[rank_].bytes / element_ : args_.count;
        completion().apply(call_.out.data, count, call_.out.type);
    }
    /// What is done to the sums of this rank's result.
    collectives::Completion completion() const {
        if (!call_.reduces()) return {};
        if (call_.op.kind() == ReduceOp::Kind::average)
            return collectives::Completion::divide_by(averaged_ranks());
        if (call_.op.kind() != ReduceOp::Kind::sum) return {};
        return collectives::Completion::multiply_by(call_.factor);
    }
    bool has_result() const {
        if (call_.collective == C::reduce) return at_root();
        return call_.collective != C::exscan || rank_ > 0;
    }
    /// Returns how many ranks contribute to this rank's result.
    int averaged_ranks() const {
        if (call_.collective == C::scan) return rank_ + 1;
        return call_.collective == C::exscan ? rank_ : static_cast<int>(size_);
    }

    collectives::Scratch& scratch_;
    Invocation const& call_;
    int rank_;
    std::size_t size_;
    std::size_t element_;
    Arguments args_;
    Shape shape_;
};

/// Whether a call can pass through a room: an element must fit in a block of it to be combined there.
bool fits_room(node_memory::Room const* room, Invocation const& call) {
    return room != nullptr && (!call.reduces() || call.in.type.size() <= room->block());
}

/// The same for the memories of several nodes.
bool fits_nodes(collectives::NodeGroups const* groups, Invocation const& call) {
    return groups != nullptr && (!call.reduces() || call.in.type.size() <= groups->block());
}

/// All ranks begin a timed call together, so that no time contains the wait for a rank that came late.
void meet(collectives::Channel& channel) { collectives::dissemination_barrier(channel, {}); }

/// Replaces each number by the greatest of all ranks.
void take_greatest(collectives::Channel& channel, collectives::Scratch& scratch,
                   std::vector<double>& numbers) {
    collectives::LentBuffer<double> lent(channel, 0);
    lent->swap(numbers);
    collectives::Reducer const reduce(max, DataType::Kind::f64);
    Arguments call;
    call.in = call.out = reinterpret_cast<std::byte*>(lent->data());
    call.count = lent->size();
    call.element = sizeof(double);
    call.reduce = &reduce;
    call.scratch = &scratch;
    collectives::recursive_doubling_allreduce(channel, call);
    lent->swap(numbers);
}

/// Runs a call whose time is compared with those of other algorithms.
void run_timed(collectives::Channel& channel, Means const& means,
               collectives::Refinement::Trial const& trial, Arguments const& arguments) {
    meet(channel);
    auto const start = std::chrono::steady_clock::now();
    trial.algorithm->run(channel, arguments);
    std::chrono::duration<double> const taken = std::chrono::steady_clock::now() - start;
    if (!means.refinement->record(taken.count() * trial.scale)) return;
    std::vector<double> times = means.refinement->times();
    take_greatest(channel, means.scratch, times);
    means.refinement->decide(times);
}

/// Runs a call by the algorithm that it names, or that is chosen for it.
void run_chosen(collectives::Channel& channel, Means const& means, Invocation const& call) {
    collectives::Tuner& tuner = means.tuner;
    auto const choose = [&](Shape const& shape) -> collectives::Refinement::Trial {
        if (call.options.algorithm.empty()) {
            bool const order_matters = call.reduces() && call.op.order_matters(call.in.type);
            if (means.refinement != nullptr && !shape.shared)
                return means.refinement->begin(call.collective, shape, order_matters);
            return {&tuner.choose(call.collective, shape, order_matters), false};
        }
        auto const& asked = collectives::find_algorithm(call.collective, call.options.algorithm);
        if (!asked.applies(shape))
            throw UsageError(text("algorithm ", asked.name, " cannot do ", call.text(), " on ",
                                  channel.size(), " ranks (", asked.suits,
                                  "). Leave the choice to sinew"));
        return {&asked, false};
    };
    CollectiveExecution execution(channel.rank(), channel.size(), means.scratch, call);
    execution.run([&](Arguments& arguments, Shape& shape) {
        arguments.segment = tuner.model().bound().segment;
        arguments.window = tuner.model().bound().window;
        arguments.ring = &means.ring;
        shape.shared = fits_room(channel.room(), call);
        shape.by_node = fits_nodes(channel.groups(), call);
        collectives::Refinement::Trial const trial = choose(shape);
        if (trial.algorithm == &collectives::shared_algorithm(call.collective))
            execution.complete_in_algorithm();
        channel.begin();
        auto* const room = shape.by_node ? channel.groups()->room() : channel.room();
        if (room != nullptr) room->sign(signature_of(call.collective, call.root, shape.bytes));
        if (trial.timed) run_timed(channel, means, trial, arguments);
        else trial.algorithm->run(channel, arguments);
    });
}

/// Returns whether a reduction of 16-bit floats runs on f32, to be rounded once, not at every step.
bool needs_wider(Invocation const& call) {
    if (!call.reduces() || !call.in.type.is_16_bit_float()) return false;
    auto const kind = call.op.kind();
    return kind == ReduceOp::Kind::sum || kind == ReduceOp::Kind::prod ||
           kind == ReduceOp::Kind::average;
}

void perform_wider(collectives::Channel& channel, Means const& means, Invocation const& call) {
    DataType const f32 = DataType::Kind::f32;
    bool const has_out = call.collective != C::reduce || channel.rank() == call.root;
    auto const floats = [&](std::size_t count) {
        return reinterpret_cast<float*>(means.scratch.take(count * sizeof(float)).data());
    };
    float* const in = floats(call.in.count);
    collectives::widen(in, call.in.data, call.in.count, call.in.type);
    Invocation wide = call;
    wide.in = {in, call.in.count, f32};
    std::size_t const out_count = has_out ? call.out.count : 0;
    float* const out = call.in_place ? in : floats(out_count);
    wide.out = {out, out_count, f32};
    run_chosen(channel, means, wide);
    if (!has_out || (call.collective == C::exscan && channel.rank() == 0)) return;
    std::size_t results = call.out.count;
    if (call.in_place && call.collective == C::reduce_scatter_block)
        results /= static_cast<std::size_t>(channel.size());
    if (call.in_place && call.collective == C::reduce_scatter)
        results = call.parts.counts[static_cast<std::size_t>(channel.rank())];
    collectives::narrow(call.out.data, out, results, call.out.type);
}

}  // namespace

void perform(collectives::Channel& channel, Means const& means, Invocation const& call) {
    // Through memory all inputs of an element meet in one step, which rounds once by itself.
    std::string_view const asked = call.options.algorithm;
    bool const over_memory =
        fits_room(channel.room(), call) &&
        (asked.empty() ? means.tuner.prefers_memory(call.collective) : asked == "shared");
    if (!over_memory && needs_wider(call)) perform_wider(channel, means, call);
    else run_chosen(channel, means, call);
}

bool perform_over_memory(node_memory::Room& room, node_memory::Waiter& waiter,
                         collectives::Scratch& scratch, Invocation const& call) {
    if (!fits_room(&room, call)) return false;
    CollectiveExecution execution(room.rank(), room.size(), scratch, call);
    execution.complete_in_algorithm();
    execution.run([&](Arguments const& arguments, Shape const& shape) {
        room.sign(signature_of(call.collective, call.root, shape.bytes));
        collectives::node::run(call.collective, {room, waiter, arguments});
    });
    return true;
}

collectives::Algorithm const& expected_algorithm(collectives::Tuner const& tuner,
                                                 collectives::Refinement const* refinement,
                                                 collectives::Shape const& like,
                                                 Invocation const& call) {
    // If each rank knows only its own sizes, the choice does not depend on them.
    bool const own_sizes = call.collective == C::gatherv || call.collective == C::scatterv ||
                           call.collective == C::alltoallv || call.collective == C::barrier;
    DataType const type = needs_wider(call) ? DataType(DataType::Kind::f32) : call.in.type;
    Shape shape = like;
    shape.bytes = own_sizes ? 0 : call.in.count * type.size();
    shape.count = own_sizes ? 0 : call.in.count;
    shape.commutative = !call.reduces() || call.op.commutative();
    shape.symmetric = !call.reduces() || call.op.kind() != ReduceOp::Kind::user;
    bool const order_matters = call.reduces() && call.op.order_matters(type);
    if (refinement != nullptr && !shape.shared)
        return refinement->choice(call.collective, shape, order_matters);
    return tuner.choice(call.collective, shape, order_matters);
}

}  // namespace sinew::detail
