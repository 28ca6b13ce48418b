// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/context_switch.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <thread>

#include "benchmarks/support/machine/processors.hpp"
#include "benchmarks/support/stopwatch.hpp"

namespace sinew::bench {

namespace {

constexpr int switch_batches = 3, switches_per_batch = 300;
constexpr double switching_limit = 0.1;

}  // namespace

// The threads pass a number on; each passing is one switch, since one processor runs both.
double measure_context_switch() {
    int const processor = ::sched_getcpu();
    if (processor < 0) return 0;
    double best = std::numeric_limits<double>::infinity();
    std::array<std::thread, 2> threads;
    std::atomic<int> number{0};
    std::atomic<bool> bound{true}, over{false};
    auto const work = [&](int parity) {
        Pinned const here(processor);
        if (!here.pinned()) bound = false;
        Stopwatch whole;
        for (int batch = 0; batch < switch_batches; ++batch) {
            Stopwatch watch;
            for (int trip = 0; trip < switches_per_batch; ++trip) {
                while (number.load(std::memory_order_acquire) % 2 != parity) {
                    if (over || whole.seconds() > switching_limit) {
                        over = true;
                        return;
                    }
                    ::sched_yield();
                }
                number.fetch_add(1, std::memory_order_acq_rel);
            }
            if (parity == 0) best = std::min(best, watch.seconds() / switches_per_batch / 2);
        }
    };
    for (std::size_t i = 0; i < threads.size(); ++i)
        threads[i] = std::thread(work, static_cast<int>(i));
    for (std::thread& thread : threads) thread.join();
    return bound && best < switching_limit ? best * 1e9 : 0;
}

}  // namespace sinew::bench
