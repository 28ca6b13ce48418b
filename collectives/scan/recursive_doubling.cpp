// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/copy.hpp"
#include "collectives/schedule/steps.hpp"

namespace sinew::collectives {

namespace {

/// Merges blocks of 1, 2, 4, ... ranks. Each rank keeps the sum of its block and, in `out`, the
/// prefix: the sum of the block's ranks before it (and itself, if `Inclusive`).
template <bool Inclusive>
class PrefixScan {
public:
    PrefixScan(Channel& channel, Arguments const& call)
        : channel_(channel), call_(call), total_(call.in), has_prefix_(Inclusive),
          sum_(call.scratch->take(call.bytes())), received_(call.scratch->take(call.bytes())) {}

    void run() {
        int const rank = channel_.rank(), ranks = channel_.size();
        Steps steps(channel_, rounds_to_reach(ranks));
        for (int size = 1; size < ranks; size *= 2) {
            steps.next();
            int const peer = rank ^ size, after_both = (rank & -(2 * size)) + 2 * size;
            if (peer < ranks) step(peer, after_both < ranks);
        }
    }

private:
    /// Merges the block of `peer`. If there are ranks `after` both, they will need the sum of both.
    void step(int peer, bool after) {
        bool const higher = peer > channel_.rank();
        std::span<std::byte const> const mine(total_, call_.bytes());
        if (after) channel_.exchange(peer, mine, peer, received_);
        else if (higher) channel_.send(peer, mine);
        else channel_.receive(peer, received_);
        if (after) add(higher ? total_ : received_.data(), higher ? received_.data() : total_);
        if (!higher) prepend();
    }
    /// Must precede prepend(), which in an in-place call overwrites the input summed here.
    void add(std::byte const* lower, std::byte const* higher) {
        call_.combine(sum_.data(), lower, higher, call_.bytes());
        total_ = sum_.data();
    }
    void prepend() {
        if (has_prefix_) call_.combine(call_.out, received_.data(), call_.out, call_.bytes());
        else copy(call_.out, received_);
        has_prefix_ = true;
    }

    Channel& channel_;
    Arguments const& call_;
    std::byte const* total_;  // the sum of this rank's block; the input until there is a sum
    bool has_prefix_;
    std::span<std::byte> sum_;
    std::span<std::byte> received_;
};

}  // namespace

// Ranks exchange the sums of their blocks with the rank at distance 1, 2, 4, ...; the higher of the
// two prepends the sum that it receives. Sums that no rank will need are not sent.
//
//   steps ceil(log2 P)    bytes sent per rank <= S ceil(log2 P)    scratch 2S
//
// Order: tree; the operation need not commute.
// Hillis, Steele: Data parallel algorithms (1986).
void recursive_doubling_scan(Channel& channel, Arguments const& call) {
    copy(call.out, call.input());
    PrefixScan<true>(channel, call).run();
}

void recursive_doubling_exscan(Channel& channel, Arguments const& call) {
    PrefixScan<false>(channel, call).run();
}

}  // namespace sinew::collectives
