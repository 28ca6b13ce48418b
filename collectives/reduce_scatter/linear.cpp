// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/segments.hpp"
#include "collectives/schedule/transfers.hpp"

namespace sinew::collectives {

namespace {

/// One rank's part. Round i carries segment i of every block; the segments of round i + 1 are
/// received while those of round i are combined.
class Rounds {
public:
    Rounds(Channel& channel, Arguments const& call)
        : channel_(channel), call_(call), rank_(channel.rank()), ranks_(channel.size()),
          segments_(call.blocks.largest(ranks_), call.segment, call.element),
          buffers_(call.scratch->take(2 * places() * segments_.bytes()).data()),
          receiving_(*call.scratch, 2 * places()), sending_(*call.scratch, places()),
          inputs_(call.scratch->take_array<void const*>(places())) {}

    void run() {
        receive(0);
        for (std::size_t i = 0; i < segments_.count(); ++i) {
            channel_.step(static_cast<int>(i) + 1, static_cast<int>(segments_.count()));
            if (i + 1 < segments_.count()) receive(i + 1);
            send(i);
            combine(i);
        }
        sending_.wait();
    }

private:
    std::size_t places() const { return static_cast<std::size_t>(ranks_); }
    std::size_t place(std::size_t round, int rank) const {
        return round % 2 * places() + static_cast<std::size_t>(rank);
    }
    std::byte* buffer(std::size_t place) const { return buffers_ + place * segments_.bytes(); }
    ChunkRange own(std::size_t round) const { return segments_.of(call_.blocks[rank_], round); }

    void receive(std::size_t round) {
        for (int away = 1; away < ranks_; ++away) {
            int const from = (rank_ - away + ranks_) % ranks_;
            std::size_t const at = place(round, from);
            receiving_[at] = channel_.start_receive(from, {buffer(at), own(round).bytes});
        }
    }
    void send(std::size_t round) {
        for (int away = 1; away < ranks_; ++away) {
            int const to = (rank_ + away) % ranks_;
            auto const part = segments_.of(call_.blocks[to], round);
            Channel::Transfer& sending = sending_[static_cast<std::size_t>(to)];
            sending.wait();  // the send of the previous round
            sending = channel_.start_send(to, {call_.in + part.offset, part.bytes});
        }
    }
    void combine(std::size_t round) {
        ChunkRange const part = own(round);
        for (int rank = 0; rank < ranks_; ++rank) {
            std::size_t const at = place(round, rank);
            receiving_[at].wait();
            inputs_[static_cast<std::size_t>(rank)] =
                rank == rank_ ? call_.in + part.offset : buffer(at);
        }
        std::byte* const to = call_.out + (part.offset - call_.blocks[rank_].offset);
        call_.combine(to, inputs_, part.bytes);
    }

    Channel& channel_;
    Arguments const& call_;
    int rank_;
    int ranks_;
    Segments segments_;
    std::byte* buffers_;
    Transfers receiving_;
    Transfers sending_;
    std::span<void const*> inputs_;
};

}  // namespace

// Every rank sends each block to its owner, which combines all inputs in one pass, by segments.
//
//   steps P-1, at once    bytes sent per rank S(P-1)/P    scratch 2P segments
//
// Order: linear; the operation need not commute. Serves blocks of different sizes too.
void linear_reduce_scatter(Channel& channel, Arguments const& call) { Rounds(channel, call).run(); }

}  // namespace sinew::collectives
