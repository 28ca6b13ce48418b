// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/sums/sum_time.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <thread>

#include "benchmarks/support/machine/copy_ways.hpp"
#include "benchmarks/support/machine/processors.hpp"
#include "benchmarks/support/machine/timed_sizes.hpp"
#include "benchmarks/support/machine/touched_memory.hpp"
#include "benchmarks/support/statistics.hpp"
#include "benchmarks/support/stopwatch.hpp"
#include "benchmarks/support/sums/in_place_sums.hpp"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define SINEW_BENCH_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SINEW_BENCH_VECTORS
#endif

namespace sinew::bench {

namespace {

constexpr std::array<std::size_t, 7> sizes{8 << 10, 64 << 10, 256 << 10, 1 << 20,
                                           4 << 20, 16 << 20, 64 << 20};
constexpr std::array<std::size_t, 4> pieces{8 << 10, 16 << 10, 64 << 10, 256 << 10};
constexpr std::size_t largest_piece = pieces.back();
/// Pieces under way between two threads.
constexpr std::size_t depth = 3;
/// Of all ranks' vectors together.
constexpr std::size_t most_sums = 100, bytes_summed = std::size_t{256} << 20;
/// Shorter results, which stay in the caches, are not stored past them.
constexpr std::size_t least_past_cache = std::size_t{1} << 20;
/// Of all ranks' vectors and results.
constexpr std::size_t most_memory = std::size_t{512} << 20;

SINEW_BENCH_VECTORS
void add_to(float* __restrict out, float const* __restrict a, float const* __restrict b,
            std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}
SINEW_BENCH_VECTORS
void add_onto(float* __restrict sums, float const* __restrict b, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) sums[i] += b[i];
}

float* floats(std::byte* memory, std::size_t offset) {
    return reinterpret_cast<float*>(memory + offset);
}

/// What one thread has, and how far it is.
struct Adder {
    std::vector<TouchedMemory> in, out;  ///< of its ranks
    TouchedMemory sums;                  ///< `depth` pieces, for the others
    alignas(64) std::atomic<std::uint64_t> added{0};
    alignas(64) std::atomic<std::uint64_t> copied{0};
};

/// The threads of one process that sum the vectors of all ranks.
class Adders {
public:
    /// `largest`: the bytes of the longest vector.
    Adders(std::vector<int> const& processors, int ranks, std::size_t largest)
        : processors_(processors), ranks_(static_cast<std::size_t>(ranks)) {
        std::size_t const threads = processors.size(), all = ranks_;
        for (std::size_t t = 0; t < threads; ++t) {
            auto adder = std::make_unique<Adder>();
            adder->sums = touched_memory(depth * largest_piece);
            complete_ = complete_ && adder->sums;
            for (std::size_t r = t * all / threads; r < (t + 1) * all / threads; ++r)
                for (auto* const list : {&adder->in, &adder->out}) {
                    list->push_back(touched_memory(largest));
                    complete_ = complete_ && list->back();
                }
            adders_.push_back(std::move(adder));
        }
    }
    bool complete() const { return complete_; }

    /// The median time of a sum in us; 0 if a thread cannot be bound to its processor.
    double median_us(std::size_t bytes, std::size_t piece, CopyWay const& results) {
        std::size_t const sums =
            std::clamp<std::size_t>(bytes_summed / (ranks_ * bytes), 3, most_sums);
        std::size_t const settling = 1 + sums / 5;
        std::vector<double> us;
        std::atomic<bool> bound{true};
        std::atomic<std::size_t> ready{0};
        std::vector<std::thread> threads;
        std::uint64_t const first = pieces_;
        for (std::size_t t = 0; t < adders_.size(); ++t)
            threads.emplace_back([&, t] {
                Pinned const here(processors_[t]);
                if (!here.pinned()) bound = false;
                ready.fetch_add(1);
                while (ready.load() < adders_.size()) ::sched_yield();
                std::uint64_t at = first;
                for (std::size_t i = 0; i < sums + settling; ++i) {
                    Stopwatch const watch;
                    sum(t, bytes, std::min(piece, bytes), results, at);
                    if (t == 0 && i >= settling) us.push_back(watch.seconds() * 1e6);
                }
                if (t == 0) pieces_ = at;
            });
        for (std::thread& thread : threads) thread.join();
        return bound ? median(us) : 0;
    }

private:
    /// `at`: pieces before this sum; afterwards, with it.
    void sum(std::size_t thread, std::size_t bytes, std::size_t piece, CopyWay const& results,
             std::uint64_t& at) {
        std::size_t const last = adders_.size() - 1;
        std::uint64_t const begin = at, rounds = (bytes + piece - 1) / piece;
        // A thread is ahead of those that add after it, and copies what comes back.
        std::uint64_t const lag = last - thread;
        for (std::uint64_t round = 0; round < rounds + lag; ++round) {
            if (round < rounds)
                add(thread, begin + round, round * piece, part(bytes, piece, round));
            if (round >= lag) {
                std::uint64_t const done = round - lag;
                copy(thread, begin + done, done * piece, part(bytes, piece, done), results);
            }
        }
        at = begin + rounds;
    }
    static std::size_t part(std::size_t bytes, std::size_t piece, std::uint64_t round) {
        return std::min(piece, bytes - round * piece);
    }

    void add(std::size_t thread, std::uint64_t number, std::size_t offset, std::size_t bytes) {
        Adder& own = *adders_[thread];
        // Who reads the slot: the next thread, or, of sums, all.
        bool const last = thread + 1 == adders_.size();
        if (number >= depth)
            for (std::size_t t = last ? 0 : thread + 1; t < (last ? thread : thread + 2); ++t)
                await(last ? adders_[t]->copied : adders_[t]->added, number - depth + 1);
        float* const to = floats(own.sums.get(), number % depth * largest_piece);
        float const* before = nullptr;
        if (thread > 0) {
            Adder& other = *adders_[thread - 1];
            await(other.added, number + 1);
            before = floats(other.sums.get(), number % depth * largest_piece);
        }
        std::size_t const count = bytes / sizeof(float);
        for (TouchedMemory const& in : own.in) {
            float const* const values = floats(in.get(), offset);
            if (before == nullptr) {
                before = values;
            } else if (before == to) {
                add_onto(to, values, count);
            } else {
                add_to(to, before, values, count);
                before = to;
            }
        }
        if (before != to) std::memcpy(to, before, bytes);
        own.added.store(number + 1, std::memory_order_release);
    }

    void copy(std::size_t thread, std::uint64_t number, std::size_t offset, std::size_t bytes,
              CopyWay const& results) {
        Adder& own = *adders_[thread];
        Adder& last = *adders_.back();
        await(last.added, number + 1);
        for (TouchedMemory const& out : own.out)
            results.copy(out.get() + offset, last.sums.get() + number % depth * largest_piece,
                         bytes);
        own.copied.store(number + 1, std::memory_order_release);
    }

    static void await(std::atomic<std::uint64_t> const& count, std::uint64_t wanted) {
        for (int look = 1; count.load(std::memory_order_acquire) < wanted; ++look)
            if (look % 4096 == 0) ::sched_yield();
    }

    std::vector<int> processors_;
    std::size_t ranks_;
    std::vector<std::unique_ptr<Adder>> adders_;
    bool complete_ = true;
    std::uint64_t pieces_ = 0;
};

/// The longest vectors whose memory the machine can spare, of those that are timed; 0: none.
std::size_t longest(int ranks, std::size_t most_bytes) {
    double const free = static_cast<double>(::sysconf(_SC_AVPHYS_PAGES)) *
                        static_cast<double>(::sysconf(_SC_PAGESIZE));
    double const affordable = std::min(free / 4, static_cast<double>(most_memory)) / (2.0 * ranks);
    std::size_t largest = 0;
    for (std::size_t const bytes : sizes)
        if (bytes <= most_bytes && static_cast<double>(bytes) <= affordable) largest = bytes;
    return largest;
}

/// Sums of vectors that each thread has for itself. Empty if they cannot be timed.
std::vector<SumTime> measure_private(std::vector<int> const& processors, int ranks,
                                     std::size_t largest) {
    Adders adders(processors, ranks, largest);
    if (!adders.complete()) return {};
    std::vector<SumTime> times;
    for (std::size_t const bytes : sizes) {
        if (bytes > largest) break;
        SumTime best{.bytes = bytes};
        auto const all = copy_ways();
        for (CopyWay const& results : bytes < least_past_cache ? all.first(1) : all)
            for (std::size_t const piece : pieces) {
                if (piece > bytes) continue;
                double const us = adders.median_us(bytes, piece, results);
                if (us == 0) return {};
                if (best.us == 0 || us < best.us) {
                    best.us = us;
                    best.piece = piece;
                }
            }
        best.live_us = best.us;
        times.push_back(best);
    }
    return times;
}

/// Sums of vectors that all threads share.
std::vector<SumTime> measure_shared(std::vector<int> const& processors, int ranks,
                                    std::size_t largest) {
    InPlaceSums const sums(processors, ranks, largest);
    if (!sums.complete()) return {};
    std::vector<SumTime> times;
    for (std::size_t const bytes : sizes) {
        if (bytes > largest) break;
        SumTime const time{.bytes = bytes,
                           .us = sums.median_us(bytes, false),
                           .live_us = sums.median_us(bytes, true)};
        if (time.us == 0 || time.live_us == 0) return {};
        times.push_back(time);
    }
    return times;
}

/// Processors that some rank may use; fewer than `wanted` if there are not so many. Collective. (A launcher may have bound each rank to
/// one of its own, which does not keep a thread of another rank from it.)
std::vector<int> processors_of_all(Communicator& comm, int wanted) {
    cpu_set_t own;
    CPU_ZERO(&own);
    if (::sched_getaffinity(0, sizeof own, &own) != 0) CPU_ZERO(&own);
    std::vector<cpu_set_t> sets(static_cast<std::size_t>(comm.size()));
    comm.allgather(ConstBuffer(&own, sizeof own, DataType::Kind::u8),
                   Buffer(sets.data(), sets.size() * sizeof own, DataType::Kind::u8));
    std::vector<int> all;
    for (int i = 0; i < CPU_SETSIZE; ++i)
        if (std::ranges::any_of(sets, [i](cpu_set_t const& set) { return CPU_ISSET(i, &set); }))
            all.push_back(i);
    all = cores_first(all);
    if (all.size() > static_cast<std::size_t>(wanted)) all.resize(static_cast<std::size_t>(wanted));
    return all;
}

/// A barrier in which ranks sleep, so that those that come early leave their processors to the threads of another one.
void meet_asleep(Communicator& comm) {
    Request met = comm.ibarrier();
    while (!met.test()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

std::vector<SumTime> measure_sum_times(Communicator& comm, int processors, VectorMemory memory,
                                       std::size_t most_bytes) {
    bool const shared = memory == VectorMemory::shared;
    if (processors < 2 || (!shared && comm.size() <= processors)) return {};
    auto const usable = processors_of_all(comm, processors);
    std::vector<SumTime> times;
    if (comm.rank() == 0) {
        std::size_t const largest = longest(comm.size(), most_bytes);
        if (usable.size() == static_cast<std::size_t>(processors) && largest > 0)
            times = (shared ? measure_shared : measure_private)(usable, comm.size(), largest);
    }
    meet_asleep(comm);
    times.resize(comm.allreduce_value(times.size(), max));
    std::vector<std::uint64_t> sizes_and_pieces;
    std::vector<double> us;
    for (SumTime const& time : times) {
        sizes_and_pieces.insert(sizes_and_pieces.end(), {time.bytes, time.piece});
        us.insert(us.end(), {time.us, time.live_us});
    }
    comm.broadcast(sizes_and_pieces);
    comm.broadcast(us);
    for (std::size_t i = 0; i < times.size(); ++i)
        times[i] = {.bytes = sizes_and_pieces[2 * i],
                    .us = us[2 * i],
                    .live_us = us[2 * i + 1],
                    .piece = sizes_and_pieces[2 * i + 1]};
    return times;
}

double sum_us(std::vector<SumTime> const& times, double bytes, bool live) {
    return interpolated_us(times, bytes,
                           [live](SumTime const& time) { return live ? time.live_us : time.us; });
}

}  // namespace sinew::bench
