// SPDX-License-Identifier: Apache-2.0
#include "collectives/node/node_call.hpp"

namespace sinew::collectives::node {

namespace {

/// A scan, inclusive or exclusive: each rank publishes its vector and combines those of the lower
/// ranks.
class Scan {
public:
    Scan(NodeCall const& call, bool inclusive)
        : call_(call), room_(call.room), inclusive_(inclusive) {}

    void run() {
        begin(room_, Collective::scan);
        if (way_of(call_.args.bytes()) != Way::rounds) at_once();
        else in_rounds();
        room_.finish();
    }

private:
    bool has_higher() const { return call_.rank() + 1 < call_.size(); }

    void at_once() {
        std::size_t const bytes = call_.args.bytes();
        if (has_higher()) publish_ahead(call_.room, call_.waiter, call_.args.input());
        Inputs inputs;
        for (int r = 0; r < call_.rank(); ++r) {
            inputs[static_cast<std::size_t>(r)] = await_ahead(call_.room, call_.waiter, r, bytes);
        }
        combine(inputs, 0, bytes);
    }

    void combine(Inputs& inputs, std::size_t offset, std::size_t bytes) {
        auto n = static_cast<std::size_t>(call_.rank());
        if (inclusive_) inputs[n++] = call_.args.in + offset;
        if (n > 0) call_.args.combine(call_.args.out + offset, {inputs.data(), n}, bytes);
    }

    void in_rounds() {
        std::size_t const bytes = call_.args.bytes();
        piece_ = std::min(piece_of(room_, call_.args.element), bytes);
        std::size_t const rounds = rounds_of(bytes, piece_);
        if (has_higher()) room_.reserve(call_.waiter, rounds, piece_);
        auto trial = begin_trial(call_, Pattern::scan, bytes);
        bypass_ = trial.stores().slots_bypass;
        contribute(0);
        for (std::size_t round = 0; round < rounds; ++round) {
            if (round + 1 < rounds) contribute(round + 1);
            for (int r = 0; r < call_.rank(); ++r) call_.await_contributed(r, round + 1);
            std::size_t const first = round * piece_;
            for_each_tile(bytes_in_round(bytes, piece_, round), call_.args.element,
                          [&](std::size_t at, std::size_t length) {
                              Inputs inputs;
                              for (int r = 0; r < call_.rank(); ++r)
                                  inputs[static_cast<std::size_t>(r)] =
                                      room_.contribution_of(r, round, piece_) + at;
                              combine(inputs, first + at, length);
                          });
            room_.publish(Stage::consumed, round + 1);
        }
        trial.done();
    }

    void contribute(std::size_t round) {
        if (!has_higher()) return;
        if (round >= Room::depth)
            for (int r = call_.rank() + 1; r < call_.size(); ++r)
                room_.await_stage(call_.waiter, r, Stage::consumed, round - Room::depth + 1);
        store_bytes(bypass_, room_.contribution_of(call_.rank(), round, piece_),
                    call_.args.in + round * piece_,
                    bytes_in_round(call_.args.bytes(), piece_, round));
        room_.publish(Stage::contributed, round + 1);
    }

    NodeCall const& call_;
    Room& room_;
    bool inclusive_;
    std::size_t piece_ = 0;
    bool bypass_ = false;
};

}  // namespace

void scan(NodeCall const& call) { Scan(call, true).run(); }
void exscan(NodeCall const& call) { Scan(call, false).run(); }

}  // namespace sinew::collectives::node
