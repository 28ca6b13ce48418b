// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <sinew/communicator.hpp>
#include <string>
#include <vector>

namespace sinew::bench {

/// How long a message takes between the private memory of two processes on two processors, in the fastest way known.
struct TransferTime {
    /// Many in sequence, or one at a time, after both ranks have met and the sender has written to its message.
    struct Median {
        double us = 0;  ///< on the slower processor
        /// How it was stored to shared memory and from there, such as memcpy+nontemporal; by the system call: kernel.
        std::string way = {};
        bool operator==(Median const&) const = default;
    };
    std::size_t bytes = 0;
    Median in_sequence = {}, single = {};
};

/// Each rank gets a message of the other one (an exchange), or one of them does (a hand-over).
struct TransferTimes {
    std::vector<TransferTime> exchanges = {}, hand_overs = {};  ///< through memory that both share
    /// The kernel copies from one private memory to the other (process_vm_readv): 16 KiB and more; empty if it may not.
    std::vector<TransferTime> read_exchanges = {}, read_hand_overs = {};
};

/// Measures messages of 8 B to 32 MiB, or to `most_bytes`, between ranks 0 and 1; the others wait in `sync`, a barrier. Collective; every rank gets the same
/// times, none if the two share no memory or one of them is not running. Takes about three seconds.
TransferTimes measure_transfer_times(Communicator& comm, std::function<void()> const& sync,
                                     std::size_t most_bytes = std::size_t{32} << 20);

/// Interpolates the time of a message of so many bytes, in sequence or `single`; 0 for none, or if nothing is known. Shorter ones
/// than those measured take as long as the shortest, and longer ones as long per byte as the longest.
double transfer_us(std::vector<TransferTime> const& times, double bytes, bool single);

}  // namespace sinew::bench
