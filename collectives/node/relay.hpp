// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/node/by_domain.hpp"

namespace sinew::collectives::node {

/// Pieces of messages that enter the domain of this rank from others, in rounds. Each rank of the
/// domain reads one slice of every piece, and keeps it in its own memory for the others of its domain:
/// so each byte enters the domain once.
class Relay {
public:
    /// The bytes of a round of a message of `bytes`. All ranks find the same. What a rank keeps of a
    /// piece of each rank outside fits beside one piece of its own.
    static std::size_t piece_of(Room const& room, Domains const& domains, std::size_t bytes) {
        std::size_t const piece = std::min(node::piece_of(room), bytes);
        if (domains.count() == 1) return piece;
        std::size_t const ranks = domains.smallest();
        std::size_t const rounds =
            std::max(rounds_to_fill(domains, hops_of_move, bytes), std::size_t{1});
        std::size_t const slice = std::min({piece, bytes / rounds, ranks * room.block()}) / ranks;
        return std::max(slice / 64 * 64, std::size_t{64}) * ranks;
    }

    /// `pieces` of at most `piece` bytes enter in each round.
    Relay(NodeCall const& call, Domains const& domains, std::size_t piece)
        : call_(call), domains_(domains), domain_(domains.of(call.rank())), piece_(piece) {}

    std::span<int const> peers() const { return domains_.members(domain_); }
    /// What a rank of the domain of `rank` keeps of a round of `pieces`: the size of its results.
    std::size_t bytes(int rank, std::size_t pieces) const {
        return pieces * slice_in(domains_.of(rank));
    }

    /// Copies this rank's slice of one of the `pieces` of a round to `to`, and keeps it. `read(to,
    /// offset, bytes)` copies a part of the piece.
    template <class Read>
    void fetch(std::size_t round, std::size_t number, std::size_t pieces, std::byte* to,
               std::size_t bytes, Read const& read) const {
        auto const [offset, length] = slice(domains_.index(call_.rank()), bytes);
        if (length == 0) return;
        read(to + offset, offset, length);
        if (peers().size() > 1)
            copy(kept(call_.rank(), round, number, pieces), {to + offset, length});
    }
    /// Waits until the other ranks of the domain have come so far.
    void await_peers(Stage stage, std::size_t rounds) const {
        for (int const peer : peers())
            if (peer != call_.rank()) call_.room.await_stage(call_.waiter, peer, stage, rounds);
    }
    /// Copies the slices of the peers. Requires: they have delivered the round.
    void collect(std::size_t round, std::size_t number, std::size_t pieces, std::byte* to,
                 std::size_t bytes) const {
        auto const all = peers();
        auto const self = static_cast<std::size_t>(domains_.index(call_.rank()));
        for (std::size_t step = 1; step < all.size(); ++step) {
            std::size_t const index = (self + step) % all.size();
            auto const [offset, length] = slice(static_cast<int>(index), bytes);
            if (length > 0) copy(to + offset, {kept(all[index], round, number, pieces), length});
        }
    }

private:
    struct Slice {
        std::size_t offset, bytes;
    };
    std::size_t slice_in(int domain) const {
        std::size_t const ranks = domains_.members(domain).size();
        return ((piece_ + ranks - 1) / ranks + 63) / 64 * 64;
    }
    Slice slice(int index, std::size_t bytes) const {
        std::size_t const most = slice_in(domain_);
        std::size_t const offset = static_cast<std::size_t>(index) * most;
        return {offset, offset >= bytes ? 0 : std::min(most, bytes - offset)};
    }
    std::byte* kept(int rank, std::size_t round, std::size_t number, std::size_t pieces) const {
        return call_.room.result_of(rank, round, bytes(rank, pieces)) + number * slice_in(domain_);
    }

    NodeCall const& call_;
    Domains const& domains_;
    int domain_;
    std::size_t piece_;
};

}  // namespace sinew::collectives::node
