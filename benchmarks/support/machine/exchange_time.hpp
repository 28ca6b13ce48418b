// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <sinew/communicator.hpp>
#include <string>
#include <vector>

namespace sinew::bench {

/// How long two processors take to hand each other a message through memory that both share: each stores
/// its own, raises a flag, waits for the other's flag and loads the other's; more than 64 KiB in pieces.
struct ExchangeTime {
    std::size_t bytes = 0;  ///< that each hands over
    double us = 0;          ///< the median of many exchanges, on the slower processor
    std::string way = {};   ///< of the stores, the faster one: memcpy or nontemporal
};

/// Measures exchanges between ranks 0 and 1 of 64 B to 16 MiB; the others wait in `sync`, a barrier.
/// Collective; every rank gets the same times, none if the two share no memory or one of them is not running.
/// Takes about half a second.
std::vector<ExchangeTime> measure_exchange_times(Communicator& comm,
                                                 std::function<void()> const& sync);

/// Interpolates the time in us; 0 (nothing known) for messages shorter than those measured. Longer ones take as
/// long per byte as the longest.
double exchange_us(std::vector<ExchangeTime> const& times, double bytes);

}  // namespace sinew::bench
