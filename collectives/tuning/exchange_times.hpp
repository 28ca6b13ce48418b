// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>

#include "collectives/tuning/level.hpp"

namespace sinew::collectives {

/// Measures the exchange of `bytes`, that many times, and returns the typical time in seconds.
using MeasureExchange = std::function<double(std::size_t bytes, int repetitions)>;

/// Returns the times of Level::sizes. Once a size takes longer than 0.5 ms, larger ones are
/// extrapolated with a latency and a time per byte. Times never fall with the size: a neighbor on
/// the core can only add to them. The calls depend on nothing but the results of `measure`, so
/// ranks that get the same results make the same calls.
std::array<double, Level::sizes.size()> exchange_times(MeasureExchange const& measure);

}  // namespace sinew::collectives
