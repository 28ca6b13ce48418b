// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <sinew/communicator.hpp>
#include <string>
#include <vector>

namespace sinew::bench {

/// How fast processors copy private memory at the same time: the best of several ways.
struct CopyRate {
    std::size_t footprint = 0;  ///< bytes that each processor reads and writes
    double gbs = 0;             ///< bytes read and written by all of them, in 1e9 per second
    std::string way = {};       ///< memcpy, movsb or nontemporal
};

/// Measures the rates of footprints from what a first-level cache holds to what only memory holds.
/// The first `processors` ranks copy, the others wait in `sync`, a barrier. Collective; every rank
/// gets the same rates. Takes about half a second.
std::vector<CopyRate> measure_copy_rates(Communicator& comm, int processors,
                                         std::function<void()> const& sync);

/// Interpolates the rate of a footprint, in bytes per second; 0 without rates. Beyond the ends it is
/// that of the nearest.
double rate_at(std::vector<CopyRate> const& rates, double footprint);

}  // namespace sinew::bench
