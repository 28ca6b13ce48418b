// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/copy_rate.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "benchmarks/support/machine/copy_ways.hpp"
#include "benchmarks/support/machine/touched_memory.hpp"
#include "benchmarks/support/stopwatch.hpp"

namespace sinew::bench {

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
/// Close to each other where a last-level cache ends.
constexpr std::array<std::size_t, 7> footprints{16 << 10, 256 << 10, 2 << 20,  16 << 20,
                                                32 << 20, 64 << 20,  128 << 20};
constexpr int repetitions = 4;
constexpr double block_seconds = 2e-4;

/// The largest footprint of a rank: an eighth of the free memory is for all of them.
std::size_t affordable(int ranks) {
    double const free = static_cast<double>(::sysconf(_SC_AVPHYS_PAGES)) *
                        static_cast<double>(::sysconf(_SC_PAGESIZE));
    return static_cast<std::size_t>(std::max(free, 0.0) / 8 / ranks);
}

std::vector<std::size_t> affordable_footprints(Communicator& comm, int copying) {
    std::size_t const most = comm.allreduce_value(affordable(copying), min);
    std::vector<std::size_t> found;
    for (std::size_t const footprint : footprints)
        if (footprint <= most) found.push_back(footprint);
    return found;
}

double seconds_of(CopyWay const& way, std::byte* to, std::byte const* from, std::size_t half) {
    way.copy(to, from, half);  // also brings small footprints into the caches
    Stopwatch watch;
    int copies = 0;
    do {
        way.copy(to, from, half);
        ++copies;
    } while (watch.seconds() < block_seconds);
    return watch.seconds() / copies;
}

}  // namespace

std::vector<CopyRate> measure_copy_rates(Communicator& comm, int processors,
                                         std::function<void()> const& sync) {
    int const copying = std::min(processors, comm.size());
    bool const mine = comm.rank() < copying;
    auto const sizes = affordable_footprints(comm, copying);
    std::size_t const half = sizes.empty() ? 0 : std::max(sizes.back() / 2, huge_page);
    TouchedMemory const from = mine && half > 0 ? touched_memory(half) : TouchedMemory();
    TouchedMemory const to = mine && half > 0 ? touched_memory(half) : TouchedMemory();
    bool const enough = half > 0 && (!mine || (from && to));
    if (comm.allreduce_value(enough ? 1 : 0, min) == 0) return {};
    std::vector<CopyRate> rates;
    for (std::size_t const footprint : sizes) {
        CopyRate best{.footprint = footprint};
        for (CopyWay const& way : copy_ways()) {
            for (int i = 0; i < repetitions; ++i) {
                sync();
                double const seconds =
                    mine ? seconds_of(way, to.get(), from.get(), footprint / 2) : 0;
                double const slowest = comm.allreduce_value(seconds, max);
                double const gbs = copying * static_cast<double>(footprint) / slowest * 1e-9;
                if (gbs > best.gbs) {
                    best.gbs = gbs;
                    best.way = way.name;
                }
            }
        }
        rates.push_back(best);
    }
    return rates;
}

double rate_at(std::vector<CopyRate> const& rates, double footprint) {
    if (rates.empty()) return 0;
    auto const size = [](CopyRate const& rate) { return static_cast<double>(rate.footprint); };
    if (footprint <= size(rates.front())) return rates.front().gbs * 1e9;
    for (std::size_t i = 1; i < rates.size(); ++i) {
        if (footprint > size(rates[i])) continue;
        double const part = std::log(footprint / size(rates[i - 1])) /
                            std::log(size(rates[i]) / size(rates[i - 1]));
        return std::lerp(rates[i - 1].gbs, rates[i].gbs, part) * 1e9;
    }
    return rates.back().gbs * 1e9;
}

}  // namespace sinew::bench
