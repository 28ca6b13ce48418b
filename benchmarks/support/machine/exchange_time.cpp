// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/exchange_time.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "benchmarks/support/machine/copy_ways.hpp"
#include "benchmarks/support/machine/shared_page.hpp"
#include "benchmarks/support/machine/timed_sizes.hpp"
#include "benchmarks/support/statistics.hpp"
#include "benchmarks/support/stopwatch.hpp"

namespace sinew::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<std::size_t, 10> sizes{64,       256,       1 << 10, 4 << 10, 16 << 10,
                                            64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};
constexpr std::size_t largest = sizes.back();
/// Longer messages pass in pieces of this size, which stay in the caches.
constexpr std::size_t piece = std::size_t{64} << 10;
constexpr std::size_t most_exchanges = 100, bytes_exchanged = std::size_t{128} << 20;
/// Short exchanges are timed in sequence, as calls are.
constexpr std::size_t short_message = std::size_t{16} << 10, short_in_sequence = 32;
constexpr double not_running = 1e12;  // us
constexpr auto patience = std::chrono::milliseconds(100);

struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
};

/// Two processes that exchange messages. Each has two buffers in shared memory, used in turn, so that one is
/// not stored to while the other process may still load from it. They change hands: a process stores to the
/// buffer that it has loaded from two pieces before, whose lines are in its cache, which is the fastest way
/// known.
class Pair {
public:
    /// Requires: `rank` is 0 or 1.
    Pair(SharedPage const& page, int rank) : page_(page), rank_(rank) {
        std::fill_n(in_.get(), largest, std::byte{1});
        std::fill_n(out_.get(), largest, std::byte{});
    }

    static constexpr std::size_t lines = 2 + 2 * 2 * piece / SharedPage::line_bytes;

    /// The time of one exchange, in us.
    double exchange(CopyWay const& way, std::size_t bytes) {
        std::size_t const in_sequence = bytes <= short_message ? short_in_sequence : 1;
        meet();
        Stopwatch const watch;
        for (std::size_t i = 0; i < in_sequence; ++i)
            for (std::size_t at = 0; at < bytes && meets_; at += piece, ++pieces_) {
                std::size_t const length = std::min(piece, bytes - at);
                way.copy(buffer(rank_), in_.get() + at, length);
                meet();
                std::memcpy(out_.get() + at, buffer(1 - rank_), length);
            }
        return watch.seconds() * 1e6 / static_cast<double>(in_sequence);
    }
    /// Whether the other process has come to all meetings. After the first to which it has not, none waits.
    bool meets() const { return meets_; }

private:
    using Memory = std::unique_ptr<std::byte, Free>;

    std::atomic<std::uint64_t>& flag(int rank) {
        return *reinterpret_cast<std::atomic<std::uint64_t>*>(
            page_.line(static_cast<std::size_t>(rank)));
    }
    std::byte* buffer(int rank) const {
        int const side = rank ^ static_cast<int>(pieces_ / 2 % 2);
        std::size_t const index = 2 * static_cast<std::size_t>(side) + pieces_ % 2;
        return page_.line(2) + index * piece;
    }
    void meet() {
        flag(rank_).store(++count_, std::memory_order_release);
        auto const until = Clock::now() + patience;
        for (int look = 1; meets_ && flag(1 - rank_).load(std::memory_order_acquire) < count_;
             ++look)
            if (look % 1024 == 0 && Clock::now() > until) meets_ = false;
    }

    SharedPage const& page_;
    int rank_;
    Memory in_{static_cast<std::byte*>(std::aligned_alloc(4096, largest))};
    Memory out_{static_cast<std::byte*>(std::aligned_alloc(4096, largest))};
    std::uint64_t count_ = 0;
    std::size_t pieces_ = 0;
    bool meets_ = true;
};

/// The median in us; empty if the other process does not run.
std::optional<double> median_exchange(Pair& pair, CopyWay const& way, std::size_t bytes) {
    std::size_t const exchanges =
        std::clamp<std::size_t>(bytes_exchanged / bytes, 5, most_exchanges);
    std::size_t const settling = exchanges / 5;
    std::vector<double> us;
    for (std::size_t i = 0; i < settling + exchanges && pair.meets(); ++i) {
        double const each = pair.exchange(way, bytes);
        if (i >= settling) us.push_back(each);
    }
    if (!pair.meets()) return {};
    return median(us);
}

}  // namespace

std::vector<ExchangeTime> measure_exchange_times(Communicator& comm,
                                                 std::function<void()> const& sync) {
    if (comm.size() < 2) return {};
    SharedPage const page(comm, Pair::lines);
    bool const mine = page && comm.rank() < 2;
    auto const pair = mine ? std::make_unique<Pair>(page, comm.rank()) : nullptr;
    std::vector<ExchangeTime> times;
    for (std::size_t const bytes : sizes) {
        ExchangeTime best{.bytes = bytes};
        for (CopyWay const& way : copy_ways()) {
            sync();
            auto const took =
                mine ? median_exchange(*pair, way, bytes) : std::optional<double>(0.0);
            double const us = comm.allreduce_value(took.value_or(not_running), max);
            if (us >= not_running || !page.everywhere()) return {};
            if (best.us == 0 || us < best.us) {
                best.us = us;
                best.way = way.name;
            }
        }
        times.push_back(best);
    }
    return times;
}

double exchange_us(std::vector<ExchangeTime> const& times, double bytes) {
    return interpolated_us(times, bytes);
}

}  // namespace sinew::bench
