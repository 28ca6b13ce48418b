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
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

constexpr std::array<std::size_t, 12> sizes{
    8,        64,        256,     1 << 10, 4 << 10,  16 << 10,
    64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, ProcessorPair::largest_message};
constexpr std::size_t most_timings = 50, least_timings = 3, bytes_moved = std::size_t{16} << 20;
constexpr std::size_t bytes_in_sequence = std::size_t{256} << 10, most_in_sequence = 32,
                      most_singles = 8;
/// For less, the system call alone takes longer.
constexpr std::size_t least_read = std::size_t{16} << 10;
constexpr double not_running = 1e12;  // us

/// A way in which a message of a certain size passes.
struct Way {
    std::string name;
    std::function<void()> pass;
};
using Ways = std::vector<Way>;

/// The ways through shared memory. `pass(way)` passes a message of `bytes`.
template <class Pass>
Ways stored(std::size_t bytes, Pass const& pass) {
    constexpr std::size_t short_piece = std::size_t{16} << 10, line = 64;
    /// Results that stay in the caches are not stored past them.
    constexpr std::size_t least_past_cache = std::size_t{1} << 20;
    auto const all = copy_ways();
    Ways ways;
    for (CopyWay const& in : bytes < line ? all.first(1) : all)
        for (CopyWay const& out : bytes < least_past_cache ? all.first(1) : all)
            for (std::size_t const piece : {ProcessorPair::largest_piece, short_piece}) {
                if (piece == short_piece && bytes <= short_piece) continue;
                std::string name = text(in.name, '+', out.name);
                ways.push_back({std::move(name), [&in, &out, piece, pass] {
                                    pass(ProcessorPair::Stored{in, out, piece});
                                }});
            }
    return ways;
}

/// The median time of a message in us, of the means of some in sequence, or of some of which each begins when both have met (`single`), as
/// calls are timed: of a single message, the process that comes late has a shorter time. Empty if the other process does not run.
std::optional<double> median_us(ProcessorPair& pair, Way const& way, std::size_t bytes,
                                bool single) {
    std::size_t const timings =
        std::clamp<std::size_t>(bytes_moved / bytes, least_timings, most_timings);
    std::size_t const settling = 1 + timings / 5;
    std::size_t const messages = std::clamp<std::size_t>(bytes_in_sequence / bytes, 1,
                                                         single ? most_singles : most_in_sequence);
    std::vector<double> us;
    for (std::size_t i = 0; i < settling + timings && pair.meets(); ++i) {
        double seconds = 0;
        for (std::size_t begun = 0; begun < messages;) {
            if (single) pair.touch(bytes);
            pair.meet();
            std::size_t const end = single ? begun + 1 : messages;
            Stopwatch const watch;
            for (; begun < end; ++begun) way.pass();
            seconds += watch.seconds();
        }
        if (i >= settling) us.push_back(seconds * 1e6 / static_cast<double>(messages));
    }
    if (!pair.meets()) return {};
    return median(us);
}

/// The times of all sizes from `least` to `most`, by the fastest of `ways_of(bytes)`; empty if a rank does not run.
template <class WaysOf>
std::vector<TransferTime> measure(Communicator& comm, ProcessorPair& pair,
                                  std::function<void()> const& sync, WaysOf const& ways_of,
                                  std::size_t least, std::size_t most) {
    std::vector<TransferTime> times;
    for (std::size_t const bytes : sizes) {
        if (bytes < least || bytes > most) continue;
        TransferTime time{.bytes = bytes};
        for (Way const& way : ways_of(bytes))
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

TransferTimes measure_transfer_times(Communicator& comm, std::function<void()> const& sync,
                                     std::size_t most_bytes) {
    if (comm.size() < 2) return {};
    ProcessorPair pair(comm);
    if (!pair.everywhere()) return {};
    auto const measured = [&](auto const& ways_of, std::size_t least = 0) {
        return measure(comm, pair, sync, ways_of, least, most_bytes);
    };
    TransferTimes times;
    times.exchanges = measured([&](std::size_t bytes) {
        return stored(bytes, [&pair, bytes](auto const& way) { pair.exchange(way, bytes); });
    });
    times.hand_overs = measured([&](std::size_t bytes) {
        return stored(bytes, [&pair, bytes](auto const& way) { pair.hand_over(way, bytes); });
    });
    if (!pair.reads_private()) return times;
    times.read_exchanges = measured(
        [&](std::size_t bytes) {
            return Ways{{"kernel", [&pair, bytes] { pair.exchange_by_kernel(bytes); }}};
        },
        least_read);
    times.read_hand_overs = measured(
        [&](std::size_t bytes) {
            return Ways{{"kernel", [&pair, bytes] { pair.hand_over_by_kernel(bytes); }}};
        },
        least_read);
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
