// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/sums/in_place_sums.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "benchmarks/support/machine/processors.hpp"
#include "benchmarks/support/machine/relax.hpp"
#include "benchmarks/support/statistics.hpp"
#include "benchmarks/support/stopwatch.hpp"
#include "collectives/kernels/copy.hpp"

namespace sinew::bench {

namespace {

constexpr std::size_t line = 64;
/// Bytes that are added and then copied to the other results while they are in the first-level cache.
constexpr std::size_t tile = 8 << 10;
/// Of all ranks' vectors together.
constexpr std::size_t most_sums = 100, bytes_summed = std::size_t{256} << 20;

/// Where the threads meet. Each has a processor of its own.
class Meeting {
public:
    explicit Meeting(std::size_t threads) : threads_(threads) {}
    void wait() {
        std::size_t const turn = turn_.load();
        if (arrived_.fetch_add(1) + 1 == threads_) {
            arrived_.store(0);
            turn_.store(turn + 1);
            return;
        }
        for (int look = 1; turn_.load() == turn; ++look) {
            if (look % 4096 == 0) ::sched_yield();
            else relax();
        }
    }

private:
    std::size_t threads_;
    alignas(64) std::atomic<std::size_t> arrived_{0};
    alignas(64) std::atomic<std::size_t> turn_{0};
};

}  // namespace

InPlaceSums::InPlaceSums(std::vector<int> const& processors, int ranks, std::size_t largest)
    : processors_(processors), sum_(sum, DataType::Kind::f32) {
    for (int r = 0; r < ranks; ++r)
        for (auto* const list : {&in_, &out_}) {
            list->push_back(touched_memory(largest));
            complete_ = complete_ && list->back();
        }
}

void InPlaceSums::touch(std::size_t thread, std::size_t bytes) const {
    std::size_t const threads = processors_.size(), ranks = in_.size();
    for (std::size_t r = thread * ranks / threads; r < (thread + 1) * ranks / threads; ++r)
        for (std::size_t at = 0; at < bytes; at += line) {
            auto volatile* const written = in_[r].get() + at;
            *written = *written;
            static_cast<void>(*const_cast<std::byte const volatile*>(out_[r].get() + at));
        }
}

void InPlaceSums::add(std::size_t begin, std::size_t bytes, bool past_caches) const {
    std::vector<void const*> in;
    std::vector<std::byte*> out;
    for (std::size_t r = 0; r < in_.size(); ++r) {
        in.push_back(in_[r].get() + begin);
        out.push_back(out_[r].get() + begin);
    }
    if (past_caches) {
        sum_.stream_kernel_of(in.size())({out.data(), out.size(), {}}, in.data(),
                                         static_cast<int>(in.size()), 0, bytes);
        collectives::kernels::fence_streams();
        return;
    }
    for (std::size_t at = 0; at < bytes; at += tile) {
        std::size_t const length = std::min(tile, bytes - at);
        sum_.combine(out[0], in, length / sizeof(float));
        for (std::size_t r = 1; r < out.size(); ++r) std::memcpy(out[r], out[0], length);
        for (std::size_t r = 0; r < in.size(); ++r) {
            in[r] = static_cast<std::byte const*>(in[r]) + length;
            out[r] += length;
        }
    }
}

double InPlaceSums::median_us(std::size_t bytes, bool live) const {
    double const through = median_us(bytes, live, false);
    if (through == 0 || sum_.stream_kernel_of(in_.size()) == nullptr) return through;
    return std::min(through, median_us(bytes, live, true));
}

double InPlaceSums::median_us(std::size_t bytes, bool live, bool past_caches) const {
    std::size_t const threads = processors_.size(), lines = bytes / line;
    std::size_t const sums =
        std::clamp<std::size_t>(bytes_summed / (in_.size() * bytes), 3, most_sums);
    std::size_t const settling = 1 + sums / 5;
    std::vector<double> us;
    std::atomic<bool> bound{true};
    Meeting meeting(threads);
    auto const work = [&](std::size_t t) {
        Pinned const here(processors_[t]);
        if (!here.pinned()) bound = false;
        std::size_t const begin = t * lines / threads, end = (t + 1) * lines / threads;
        meeting.wait();
        for (std::size_t i = 0; i < sums + settling; ++i) {
            if (live) {
                touch(t, bytes);
                meeting.wait();
            }
            Stopwatch const watch;
            add(begin * line, (end - begin) * line, past_caches);
            meeting.wait();
            if (t == 0 && i >= settling) us.push_back(watch.seconds() * 1e6);
        }
    };
    std::vector<std::thread> running;
    for (std::size_t t = 0; t < threads; ++t) running.emplace_back(work, t);
    for (std::thread& thread : running) thread.join();
    return bound ? median(us) : 0;
}

}  // namespace sinew::bench
