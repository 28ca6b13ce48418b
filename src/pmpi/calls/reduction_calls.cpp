// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/calls/reduction_calls.hpp"

#include <cstring>

#include "src/pmpi/operations.hpp"

namespace sinew::pmpi {

namespace {

namespace node = collectives::node;

#ifdef OPEN_MPI
constexpr bool refuses_aliases = false;
#else
constexpr bool refuses_aliases = true;
#endif

/// Sets what a reduction of `count` elements is.
CallOutcome set_operation(CommRoute const& route, collectives::Arguments& args, MPI_Count count,
                          MPI_Datatype type, MPI_Op op) {
    if (count < 0) return CallOutcome::arguments;
    Reduction const& reduction = reduction_of(type, op);
    if (reduction.outcome != CallOutcome::taken) return reduction.outcome;
    if (reduction.element > route.room->block()) return CallOutcome::operation;
    args.count = static_cast<std::size_t>(count);
    args.element = reduction.element;
    args.reduce = &*reduction.reducer;
    return CallOutcome::taken;
}

/// Sets the vectors of a rank that has a result. MPICH refuses a `send` that is `receive`; programs
/// for Open MPI mean MPI_IN_PLACE by it.
CallOutcome set_vectors(collectives::Arguments& args, void const* send, void* receive) {
    std::size_t const bytes = args.bytes();
    if (refuses_aliases && send == receive && bytes > 0) return CallOutcome::arguments;
    bool const in_place = send == MPI_IN_PLACE;
    if (missing(receive, bytes) || (!in_place && missing(send, bytes)))
        return CallOutcome::arguments;
    args.in = static_cast<std::byte const*>(in_place ? receive : send);
    args.out = static_cast<std::byte*>(receive);
    return CallOutcome::taken;
}

/// Plans a reduction as it is arranged: this rank's message is its whole vector of `bytes`. Operations of
/// the program are not posted, as another thread would call them.
CallOutcome plan(NonBlockingCall& call, Reduction const& reduction, std::byte const* vector,
                 std::size_t bytes, Pattern pattern, int root = -1) {
    if (reduction.operation->kind() == ReduceOp::Kind::user) return CallOutcome::of_program;
    auto const outcome = call.plan(bytes, pattern, root);
    if (outcome == CallOutcome::taken) call.send_vector(vector, bytes);
    return outcome;
}

/// Executes a reduction. Vectors in the memory of a GPU are replaced by copies, and the result is copied back.
void execute(CollectiveCall& call, BackgroundCollective::Algorithm algorithm,
             std::size_t input_bytes, std::size_t result_bytes) {
    if (!has_device_driver()) [[likely]]
        return call.run(algorithm);
    collectives::Arguments& args = call.args;
    bool const copies_in = is_on_device(args.in, input_bytes);
    bool const copies_out = is_on_device(args.out, result_bytes);
    if (!copies_in && !copies_out) return call.run(algorithm);
    CallScratch scratch(call);
    bool const in_place = args.in == args.out;
    std::byte* const result = args.out;
    if (copies_in) {
        auto* const copy = scratch.take(input_bytes);
        copy_from_device(copy, args.in, input_bytes);
        args.in = copy;
        if (in_place) args.out = copy;
    }
    if (copies_out && !in_place) {
        args.out = scratch.take(result_bytes);
        // The lowest rank of an exscan has no result, and its buffer stays as it is.
        copy_from_device(args.out, result, result_bytes);
    }
    call.run(algorithm);
    if (copies_out)
        call.afterwards([result, copy = args.out, result_bytes] {
            copy_to_device(result, copy, result_bytes);
        });
}

/// The part of the vectors from element `first` on, combined up to a rank, becomes the result.
void receive_part(NonBlockingCall& call, Reduction const& reduction, std::byte* to,
                  std::size_t first, std::size_t count, int last_rank) {
    call.posted->combination = {.reducer = *reduction.reducer,
                                .to = call.place_of_result(to, count * reduction.element),
                                .offset = first * reduction.element,
                                .count = count,
                                .last_rank = last_rank};
}

}  // namespace

CallOutcome VectorToAll::arrange(CommRoute const& route, collectives::Arguments& args) const {
    auto const outcome = set_operation(route, args, count, type, op);
    return outcome == CallOutcome::taken ? set_vectors(args, send, receive) : outcome;
}

CallOutcome VectorToAll::run(CollectiveCall& call) const {
    auto const outcome = arrange(call.route, call.args);
    if (outcome == CallOutcome::taken && count > 0)
        execute(call,
                result == Result::of_all      ? node::allreduce
                : result == Result::up_to_own ? node::scan
                                              : node::exscan,
                call.args.bytes(), call.args.bytes());
    return outcome;
}

CallOutcome VectorToAll::post(NonBlockingCall& call) const {
    collectives::Arguments args;
    auto outcome = arrange(call.route(), args);
    if (outcome != CallOutcome::taken) return outcome;
    Reduction const& reduction = reduction_of(type, op);
    bool const to_all = result == Result::of_all;
    outcome = plan(call, reduction, args.in, args.bytes(),
                   to_all ? Pattern::all_to_all : Pattern::to_higher);
    if (outcome != CallOutcome::taken) return outcome;
    int const last = to_all                        ? call.size() - 1
                     : result == Result::below_own ? call.rank() - 1
                                                   : call.rank();
    if (last >= 0) receive_part(call, reduction, args.out, 0, args.count, last);
    return outcome;
}

CallOutcome VectorToAll::check(CommRoute const& route) const {
    collectives::Arguments args;
    return arrange(route, args);
}

CallOutcome Reduce::arrange(CommRoute const& route, collectives::Arguments& args) const {
    if (root < 0 || root >= route.size) return CallOutcome::arguments;
    auto const outcome = set_operation(route, args, count, type, op);
    if (outcome != CallOutcome::taken) return outcome;
    args.root = root;
    if (route.rank == root) return set_vectors(args, send, receive);
    if (send == MPI_IN_PLACE || missing(send, args.bytes())) return CallOutcome::arguments;
    args.in = static_cast<std::byte const*>(send);
    return outcome;
}

CallOutcome Reduce::run(CollectiveCall& call) const {
    auto const outcome = arrange(call.route, call.args);
    if (outcome == CallOutcome::taken && count > 0)
        execute(call, node::reduce, call.args.bytes(), call.at_root() ? call.args.bytes() : 0);
    return outcome;
}

CallOutcome Reduce::post(NonBlockingCall& call) const {
    collectives::Arguments args;
    auto outcome = arrange(call.route(), args);
    if (outcome != CallOutcome::taken) return outcome;
    Reduction const& reduction = reduction_of(type, op);
    outcome = plan(call, reduction, args.in, args.bytes(), Pattern::to_root, root);
    if (outcome == CallOutcome::taken && call.rank() == root)
        receive_part(call, reduction, args.out, 0, args.count, call.size() - 1);
    return outcome;
}

CallOutcome Reduce::check(CommRoute const& route) const {
    collectives::Arguments args;
    return arrange(route, args);
}

template <class Count>
bool ReduceScatter<Count>::in_place() const {
    return send == MPI_IN_PLACE || (!refuses_aliases && send == receive);
}

/// Sets the whole vector as input. `total`: its elements.
template <class Count>
CallOutcome ReduceScatter<Count>::arrange(CommRoute const& route, collectives::Arguments& args,
                                          MPI_Count& total) const {
    if (!equal && counts == nullptr) return CallOutcome::arguments;
    total = 0;
    for (int r = 0; r < route.size; ++r) {
        if (block(r) < 0) return CallOutcome::arguments;
        total += block(r);
    }
    auto const outcome = set_operation(route, args, total, type, op);
    if (outcome != CallOutcome::taken) return outcome;
    if (refuses_aliases && send == receive && block(route.rank) > 0) return CallOutcome::arguments;
    void const* const from = in_place() ? receive : send;
    std::size_t const own = static_cast<std::size_t>(block(route.rank)) * args.element;
    if (missing(from, args.bytes()) || missing(receive, own)) return CallOutcome::arguments;
    args.in = static_cast<std::byte const*>(from);
    args.out = static_cast<std::byte*>(receive);
    return outcome;
}

/// The algorithm needs a result that does not overlap the input.
template <class Count>
CallOutcome ReduceScatter<Count>::run(CollectiveCall& call) const {
    MPI_Count total = 0;
    auto const outcome = arrange(call.route, call.args, total);
    if (outcome != CallOutcome::taken || total == 0) return outcome;
    CallScratch scratch(call);
    auto const ranks = static_cast<std::size_t>(call.size());
    std::size_t const input_bytes = call.args.bytes();
    call.args.count = static_cast<std::size_t>(block(call.rank()));
    if (equal) {
        call.args.blocks = collectives::Blocks::equal(call.args.count, call.args.element);
    } else {
        auto const blocks = scratch.take_array<std::size_t>(ranks);
        auto const offsets = scratch.take_array<std::size_t>(ranks);
        std::size_t offset = 0;
        for (std::size_t r = 0; r < ranks; ++r) {
            blocks[r] = static_cast<std::size_t>(counts[r]);
            offsets[r] = offset;
            offset += blocks[r];
        }
        call.args.blocks = collectives::Blocks::listed(blocks, offsets, call.args.element);
    }
    std::size_t const bytes = call.args.bytes();
    if (in_place()) call.args.out = scratch.take(bytes);
    execute(call, node::reduce_scatter, input_bytes, bytes);
    if (in_place() && bytes > 0)
        call.afterwards([to = receive, result = call.args.out, bytes] {
            if (is_on_device(to, bytes)) copy_to_device(to, result, bytes);
            else std::memcpy(to, result, bytes);
        });
    return outcome;
}

template <class Count>
CallOutcome ReduceScatter<Count>::post(NonBlockingCall& call) const {
    collectives::Arguments args;
    MPI_Count total = 0, first = 0;
    auto outcome = arrange(call.route(), args, total);
    if (outcome != CallOutcome::taken) return outcome;
    Reduction const& reduction = reduction_of(type, op);
    outcome = plan(call, reduction, args.in, args.bytes(), Pattern::all_to_all);
    if (outcome != CallOutcome::taken) return outcome;
    for (int r = 0; r < call.rank(); ++r) first += block(r);
    receive_part(call, reduction, args.out, static_cast<std::size_t>(first),
                 static_cast<std::size_t>(block(call.rank())), call.size() - 1);
    return outcome;
}

template <class Count>
CallOutcome ReduceScatter<Count>::check(CommRoute const& route) const {
    collectives::Arguments args;
    MPI_Count total = 0;
    return arrange(route, args, total);
}

template struct ReduceScatter<int>;
#if SINEW_MPI_LARGE_COUNTS
template struct ReduceScatter<MPI_Count>;
#endif

}  // namespace sinew::pmpi
