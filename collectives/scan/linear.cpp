// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/copy.hpp"
#include "collectives/schedule/segments.hpp"
#include "collectives/schedule/transfers.hpp"

namespace sinew::collectives {

namespace {

/// One rank's part of the chain: segments of the prefix arrive from the previous rank and are sent
/// to the next one, combined with this rank's input. Several are in flight.
class Chain {
public:
    Chain(Channel& channel, Arguments const& call)
        : channel_(channel), call_(call), first_(channel.rank() == 0),
          last_(channel.rank() + 1 == channel.size()),
          window_(static_cast<std::size_t>(call.window)),
          segments_(call.bytes(), call.segment, call.element),
          received_(call.scratch->take(window_ * segments_.bytes()).data()),
          receiving_(*call.scratch, window_), sending_(*call.scratch, window_) {}

    /// The combined segments are the result.
    void scan() {
        run([&](std::size_t i) {
            ChunkRange const range = segment(i);
            std::byte* const sum = call_.out + range.offset;
            if (first_) copy(sum, {call_.in + range.offset, range.bytes});
            else call_.combine(sum, slot(received_, i), call_.in + range.offset, range.bytes);
            send(i, sum);
        });
    }
    /// The received segments are the result; the combined ones are only sent on.
    void exscan() {
        std::byte* const sums = call_.scratch->take(window_ * segments_.bytes()).data();
        run([&](std::size_t i) {
            ChunkRange const range = segment(i);
            std::byte const* const mine = call_.in + range.offset;
            if (first_) return send(i, mine);
            if (!last_) {
                sending_[i].wait();
                call_.combine(slot(sums, i), slot(received_, i), mine, range.bytes);
            }
            copy(call_.out + range.offset, {slot(received_, i), range.bytes});
            send(i, slot(sums, i));
        });
    }

private:
    template <class Use>
    void run(Use use) {
        for (std::size_t i = 0; i < window_; ++i) receive(i);
        for (std::size_t i = 0; i < segments_.count(); ++i) {
            channel_.step(static_cast<int>(i) + 1, static_cast<int>(segments_.count()));
            receiving_[i].wait();
            use(i);
            receive(i + window_);
        }
        sending_.wait();
    }
    ChunkRange segment(std::size_t i) const { return segments_.of({0, call_.bytes()}, i); }
    std::byte* slot(std::byte* slots, std::size_t i) const {
        return slots + i % window_ * segments_.bytes();
    }
    void receive(std::size_t i) {
        if (first_ || i >= segments_.count()) return;
        receiving_[i] =
            channel_.start_receive(channel_.rank() - 1, {slot(received_, i), segment(i).bytes});
    }
    void send(std::size_t i, std::byte const* sum) {
        if (last_) return;
        sending_[i].wait();
        sending_[i] = channel_.start_send(channel_.rank() + 1, {sum, segment(i).bytes});
    }

    Channel& channel_;
    Arguments const& call_;
    bool first_;
    bool last_;
    std::size_t window_;
    Segments segments_;
    std::byte* received_;
    Transfers receiving_;
    Transfers sending_;
};

}  // namespace

// The prefix passes from each rank to the next, in segments of which several are in flight.
//
//   steps P-2 + S/segment    bytes sent per rank S    scratch a window of segments (exscan: two)
//
// Order: linear; the operation need not commute.
void linear_scan(Channel& channel, Arguments const& call) { Chain(channel, call).scan(); }

void linear_exscan(Channel& channel, Arguments const& call) { Chain(channel, call).exscan(); }

}  // namespace sinew::collectives
