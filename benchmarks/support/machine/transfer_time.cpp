// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/transfer_time.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "benchmarks/support/machine/copy_ways.hpp"
#include "benchmarks/support/machine/processor_pair.hpp"
#include "benchmarks/support/machine/timed_sizes.hpp"
#include "benchmarks/support/statistics.hpp"
#include "benchmarks/support/stopwatch.hpp"

namespace sinew::bench {

namespace {

constexpr std::array<std::size_t, 12> sizes{
    8,        64,        256,     1 << 10, 4 << 10,  16 << 10,
    64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, ProcessorPair::largest_message};
constexpr std::size_t most_timings = 60, least_timings = 3, bytes_moved = std::size_t{32} << 20;
constexpr std::size_t bytes_in_sequence = std::size_t{256} << 10, most_in_sequence = 32;
/// For less, the system call alone takes longer.
constexpr std::size_t least_read = std::size_t{16} << 10;
constexpr double not_running = 1e12;  // us

/// A way in which a message passes.
struct Way {
    std::string name;
    std::function<void(std::size_t bytes)> pass;
};
using Ways = std::vector<Way>;

/// The ways through shared memory: each kind of stores, in short and in long pieces. `pass(stores, bytes, piece)`.
template <class Pass>
Ways stored(Pass const& pass) {
    Ways ways;
    for (std::size_t const piece : {std::size_t{16} << 10, ProcessorPair::largest_piece})
        for (CopyWay const& stores : copy_ways())
            ways.push_back({stores.name, [&stores, piece, pass](std::size_t bytes) {
                                pass(stores, bytes, piece);
                            }});
    return ways;
}

/// The median time of a message in us; empty if the other process does not run.
std::optional<double> median_us(ProcessorPair& pair, Way const& way, std::size_t bytes,
                                bool single) {
    std::size_t const timings =
        std::clamp<std::size_t>(bytes_moved / bytes, least_timings, most_timings);
    std::size_t const settling = 1 + timings / 5;
    std::size_t const in_sequence =
        single ? 1 : std::clamp<std::size_t>(bytes_in_sequence / bytes, 1, most_in_sequence);
    std::vector<double> us;
    for (std::size_t i = 0; i < settling + timings && pair.meets(); ++i) {
        if (single) pair.touch(bytes);
        pair.meet();
        Stopwatch const watch;
        for (std::size_t n = 0; n < in_sequence; ++n) way.pass(bytes);
        double const each = watch.seconds() * 1e6 / static_cast<double>(in_sequence);
        if (i >= settling) us.push_back(each);
    }
    if (!pair.meets()) return {};
    return median(us);
}

/// The times of all sizes from `least` on, by the fastest way; empty if a rank does not run.
std::vector<TransferTime> measure(Communicator& comm, ProcessorPair& pair,
                                  std::function<void()> const& sync, Ways const& ways,
                                  std::size_t least = 0) {
    std::vector<TransferTime> times;
    for (std::size_t const bytes : sizes) {
        if (bytes < least) continue;
        TransferTime time{.bytes = bytes};
        for (Way const& way : ways)
            for (bool const single : {false, true}) {
                sync();
                auto const took = pair ? median_us(pair, way, bytes, single) : 0.0;
                double const us = comm.allreduce_value(took.value_or(not_running), max);
                if (us >= not_running) return {};
                TransferTime::Median& best = single ? time.single : time.in_sequence;
                if (best.us == 0 || us < best.us) best = {us, way.name};
            }
        times.push_back(time);
    }
    return times;
}

}  // namespace

TransferTimes measure_transfer_times(Communicator& comm, std::function<void()> const& sync) {
    if (comm.size() < 2) return {};
    ProcessorPair pair(comm);
    if (!pair.everywhere()) return {};
    auto const exchanges = stored([&](CopyWay const& way, std::size_t bytes, std::size_t piece) {
        pair.exchange(way, bytes, piece);
    });
    auto const hand_overs = stored([&](CopyWay const& way, std::size_t bytes, std::size_t piece) {
        pair.hand_over(way, bytes, piece);
    });
    TransferTimes times{.exchanges = measure(comm, pair, sync, exchanges),
                        .hand_overs = measure(comm, pair, sync, hand_overs)};
    if (!pair.reads_private()) return times;
    Way const reads{"kernel", [&](std::size_t bytes) { pair.exchange_by_kernel(bytes); }};
    Way const read{"kernel", [&](std::size_t bytes) { pair.hand_over_by_kernel(bytes); }};
    times.read_exchanges = measure(comm, pair, sync, {reads}, least_read);
    times.read_hand_overs = measure(comm, pair, sync, {read}, least_read);
    return times;
}

double transfer_us(std::vector<TransferTime> const& times, double bytes, bool single) {
    if (times.empty() || bytes <= 0) return 0;
    double const known = std::max(bytes, static_cast<double>(times.front().bytes));
    return interpolated_us(times, known, [single](TransferTime const& time) {
        return single ? time.single.us : time.in_sequence.us;
    });
}

}  // namespace sinew::bench
