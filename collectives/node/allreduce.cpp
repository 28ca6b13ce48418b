// SPDX-License-Identifier: Apache-2.0

#include "collectives/node/lent.hpp"
#include "collectives/node/node_call.hpp"
#include "collectives/node/one_shot.hpp"
#include "collectives/node/results_past_cache.hpp"
#include "collectives/node/two_shot.hpp"
#include "collectives/node/two_shot_in_place.hpp"

namespace sinew::collectives::node {

namespace {

/// Up to 56 bytes travel in the cache line of the arrival itself: one hand-off in all.
void in_lines(NodeCall const& call) {
    Room& room = call.room;
    copy(room.line(call.waiter), call.args.input());
    arrive_to_reduce(call);
    Inputs inputs;
    for (int r = 0; r < call.size(); ++r) inputs[static_cast<std::size_t>(r)] = room.line_of(r);
    inputs[static_cast<std::size_t>(call.rank())] = call.args.in;
    call.args.combine_all(call.args.out, {inputs.data(), call.ranks()}, call.args.bytes());
    room.finish_together();
}

/// Short vectors: every rank publishes its own and combines all. One arrival, but each rank reads
/// the vectors of all.
void one_shot(NodeCall const& call) {
    Room& room = call.room;
    std::size_t const bytes = call.args.bytes();
    std::memcpy(room.short_slot(call.waiter, bytes), call.args.in, bytes);
    room.line(call.waiter);
    arrive_to_reduce(call);
    auto const combine = [&] {
        Inputs inputs;
        for (int r = 0; r < call.size(); ++r)
            inputs[static_cast<std::size_t>(r)] = room.short_slot_of(r, bytes);
        inputs[static_cast<std::size_t>(call.rank())] = call.args.in;
        call.args.combine_all(call.args.out, {inputs.data(), call.ranks()}, bytes);
    };
    // A function of the program may do something else on each rank, or throw.
    bool const may_copy = call.args.reduce->predefined() && !call.args.completion.exists();
    combine_for_all(room, call.waiter, call.args.output(), combine, may_copy);
    room.finish_together();
}

/// Vectors in shared memory: each rank combines its part of all vectors, and stores it to all
/// results. Nothing is copied. The trial is of what a rank does, not of its wait for others, who may store in another way.
void in_place_of_all(NodeCall const& call, StoreChoice::Trial& trial) {
    Room& room = call.room;
    Arguments const& args = call.args;
    std::size_t const ranks = call.ranks(), self = static_cast<std::size_t>(call.rank());
    std::size_t const unit = 64 % args.element == 0 ? 64 : args.element;
    std::size_t const part = (args.bytes() / ranks + unit) / unit * unit;
    std::size_t const first = std::min(self * part, args.bytes());
    std::size_t const bytes = std::min(part, args.bytes() - first);
    std::array<std::byte const*, Room::most_ranks> in{};
    std::array<std::byte*, Room::most_ranks> results{};  // that of this rank first
    for (std::size_t r = 0; r < ranks; ++r) {
        Lent const lent = Lent::of(call, static_cast<int>(r));
        in[r] = room.lendable()->at(lent.in) + first;
        results[(r + ranks - self) % ranks] = room.lendable()->at(lent.out) + first;
    }
    if (trial.stores().slots_bypass) {
        ResultsPastCache(args, {in.data(), ranks}, {results.data(), ranks}).combine(bytes);
        kernels::fence_streams();
    } else {
        for_each_tile(bytes, args.element, [&](std::size_t at, std::size_t length) {
            Inputs inputs;
            for (std::size_t r = 0; r < ranks; ++r) inputs[r] = in[r] + at;
            args.combine_all(results[0] + at, {inputs.data(), ranks}, length);
            for (std::size_t i = 1; i < ranks; ++i)
                std::memcpy(results[i] + at, results[0] + at, length);
        });
    }
    room.publish(Stage::reduced, 1);
    trial.done();
    room.await_stage_of_all(call.waiter, Stage::reduced, 1);
}

/// Publishes where this rank's buffers lie. Returns whether those of all ranks are shared; it waits
/// for the others only if this rank's are.
bool lend_all(NodeCall const& call) {
    Lent const own = Lent::of(call.room, call.args.in, call.args.out, call.args.bytes());
    own.publish(call);
    if (own.in == 0 || own.out == 0) return false;
    call.room.await_lines(call.waiter);
    for (int r = 0; r < call.size(); ++r) {
        Lent const other = Lent::of(call, r);
        if (other.in == 0 || other.out == 0) return false;
    }
    return true;
}

}  // namespace

void allreduce(NodeCall const& call) {
    std::size_t const bytes = call.args.bytes();
    Room& room = call.room;
    // Longer ones publish a line that is read only if the vectors are shared, so it is not worth claiming one that the other rank has.
    if (bytes <= Room::short_bytes) begin(room, Collective::allreduce);
    else room.begin();
    if (bytes <= Room::line_bytes) return in_lines(call);
    if (bytes <= Room::short_bytes) return one_shot(call);
    bool const past_cache = exceed_cache(call.ranks(), bytes);
    if (bytes >= least_lent_bytes && lend_all(call)) {
        auto trial = begin_trial(call, Pattern::allreduce_lent, bytes, StoreChoice::Choice::slots,
                                 past_cache ? slots_past_cache : through_cache);
        return in_place_of_all(call, trial);
    }
    bool const in_place = TwoShotInPlace::fits(room, bytes, call.args.element);
    bool const exchange = !in_place && OneShot::fits(room, call.args.element);
    bool const large = !exchange && past_cache;
    auto trial = begin_trial(call, Pattern::allreduce, bytes,
                             large ? StoreChoice::Choice::results : StoreChoice::Choice::slots,
                             large                  ? results_past_cache
                             : in_place || exchange ? through_cache
                                                    : slots_past_cache);
    if (in_place) TwoShotInPlace(call, trial.stores()).run();
    else if (exchange) OneShot(call, trial.stores()).run();
    else TwoShot(call, trial.stores(), domains_for_reduction(call)).run();
    trial.done();
}

}  // namespace sinew::collectives::node
