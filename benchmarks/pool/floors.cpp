// SPDX-License-Identifier: Apache-2.0
#include <sys/prctl.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "benchmarks/pool/ours.hpp"

namespace sinew::bench {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

class Floor final : public Contestant {
public:
    explicit Floor(std::function<double(std::uint64_t)> cost) : cost_(std::move(cost)) {}
    double cost(std::uint64_t size) override { return cost_(size); }

private:
    std::function<double(std::uint64_t)> cost_;
};

/// Threads that take sleeps from a shared counter: the lower bound for any pool. Their timer slack
/// is minimal, as in our workers. With the kernel's default slack of 50 us, 5 % of a sleep of 1 ms,
/// our workers would be faster than this bound. Slack is per thread, so that of the calling thread
/// is kept.
double list_schedule(int workers, std::uint64_t size, bool skewed) {
    std::atomic<std::uint64_t> next = 0;
    auto const work = [&] {
        ::prctl(PR_SET_TIMERSLACK, 1UL);
        for (std::uint64_t i = next++; i < size; i = next++)
            std::this_thread::sleep_for(milliseconds(skewed && i == size / 2 ? 100 : 1));
    };
    auto const begin = Clock::now();
    std::vector<std::thread> threads;
    for (int i = 0; i < workers; ++i) threads.emplace_back(work);
    for (auto& each : threads) each.join();
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

std::unique_ptr<Contestant> make_floor(std::string_view name, Case const& what, int workers) {
    if (name == "nanosleep" || (name == "ideal" && what.name == "skew"))
        return std::make_unique<Floor>([workers, skewed = what.name == "skew"](std::uint64_t size) {
            return list_schedule(workers, size, skewed);
        });
    if (name == "ideal")  // as if a sleep of 1 ms took exactly 1 ms
        return std::make_unique<Floor>(
            [workers](std::uint64_t size) { return static_cast<double>(size) * 1e-3 / workers; });
    if (name == "goal")
        return std::make_unique<Floor>(
            [](std::uint64_t size) { return static_cast<double>(size) * 200; });
    if (name == "no-kills") return make_kill_case(workers, false);
    if (name == "10-workers") return make_master_case(10, false);
    return nullptr;
}

}  // namespace sinew::bench
