// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/segments.hpp"
#include "collectives/schedule/transfers.hpp"

namespace sinew::collectives {

namespace {

int step_number(std::size_t segment) { return static_cast<int>(segment) + 1; }

void send_segments(Channel& channel, Arguments const& call, Segments const& segments) {
    Transfers sending(*call.scratch, static_cast<std::size_t>(call.window));
    ChunkRange const whole{0, call.bytes()};
    for (std::size_t i = 0; i < segments.count(); ++i) {
        channel.step(step_number(i), static_cast<int>(segments.count()));
        ChunkRange const part = segments.of(whole, i);
        sending[i].wait();
        sending[i] = channel.start_send(call.root, {call.in + part.offset, part.bytes});
    }
    sending.wait();
}

/// The root's part. Segments are received alternately into two sets of buffers, so that one arrives
/// while the other is combined.
class Sink {
public:
    Sink(Channel& channel, Arguments const& call, Segments const& segments)
        : channel_(channel), call_(call), segments_(segments), ranks_(as_size(channel.size())),
          buffers_(call.scratch->take(2 * ranks_ * segments.bytes()).data()),
          receiving_(*call.scratch, 2 * ranks_),
          inputs_(call.scratch->take_array<void const*>(ranks_)) {}

    void run() {
        post(0);
        for (std::size_t i = 0; i < segments_.count(); ++i) {
            if (i + 1 < segments_.count()) post(i + 1);
            channel_.step(step_number(i), static_cast<int>(segments_.count()));
            combine(i);
        }
    }

private:
    static std::size_t as_size(int n) { return static_cast<std::size_t>(n); }
    std::size_t slot(std::size_t segment, std::size_t rank) const {
        return segment % 2 * ranks_ + rank;
    }
    std::byte* buffer(std::size_t slot) const { return buffers_ + slot * segments_.bytes(); }
    ChunkRange part(std::size_t segment) const { return segments_.of({0, call_.bytes()}, segment); }

    void post(std::size_t segment) {
        for (std::size_t rank = 0; rank < ranks_; ++rank) {
            if (rank == as_size(call_.root)) continue;
            std::size_t const at = slot(segment, rank);
            receiving_[at] =
                channel_.start_receive(static_cast<int>(rank), {buffer(at), part(segment).bytes});
        }
    }
    void combine(std::size_t segment) {
        ChunkRange const range = part(segment);
        for (std::size_t rank = 0; rank < ranks_; ++rank) {
            std::size_t const at = slot(segment, rank);
            receiving_[at].wait();
            inputs_[rank] = rank == as_size(call_.root) ? call_.in + range.offset : buffer(at);
        }
        call_.combine(call_.out + range.offset, inputs_, range.bytes);
    }

    Channel& channel_;
    Arguments const& call_;
    Segments const& segments_;
    std::size_t ranks_;
    std::byte* buffers_;
    Transfers receiving_;
    std::span<void const*> inputs_;
};

}  // namespace

// Every rank sends to the root, which combines all inputs in one pass, segment by segment.
//
//   steps P-1 at the root    bytes sent per rank S    scratch 2P segments at the root
//
// Order: linear; the operation need not commute.
void linear_reduce(Channel& channel, Arguments const& call) {
    Segments const segments(call.bytes(), call.segment, call.element);
    if (channel.rank() == call.root) Sink(channel, call, segments).run();
    else send_segments(channel, call, segments);
}

}  // namespace sinew::collectives
