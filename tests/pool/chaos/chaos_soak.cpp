// SPDX-License-Identifier: Apache-2.0
// Starts and ends workers for a long time; nothing is lost, and memory does not grow.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <sinew/pool.hpp>
#include <sinew/pool/range.hpp>
#include <thread>

#include "src/base/text.hpp"
#include "tests/pool/chaos/chaos_program.hpp"
#include "tests/pool/chaos/chaos_scenarios.hpp"
#include "tests/pool/tasks.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Sanitizers keep freed memory.
#if defined(SINEW_TEST_ASAN) || defined(SINEW_TEST_TSAN)
constexpr std::size_t allowed_growth = std::size_t{512} << 20;
#else
constexpr std::size_t allowed_growth = std::size_t{24} << 20;
#endif

std::size_t open_descriptors() {
    std::filesystem::directory_iterator const all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// Resizes the pool every 100 ms to between 1 and 16 workers, during its lifetime.
class Churn {
public:
    explicit Churn(Pool& pool)
        : thread_([&pool](std::stop_token const& over) {
              for (int round = 0; !over.stop_requested(); ++round) {
                  pool.resize(round % 2 == 0 ? 16 : 1);
                  std::this_thread::sleep_for(100ms);
              }
              pool.resize(1);
          }) {}

private:
    std::jthread thread_;
};

}  // namespace

void soak() {
    char const* const given = std::getenv("SINEW_TEST_SOAK_SECONDS");
    std::chrono::seconds const length(given != nullptr ? std::atoi(given) : 20);
    PoolOptions options;
    options.workers = 1;
    options.progress = Progress::off;
    Pool pool(options);
    auto const end = Clock::now() + length;
    auto const warm = Clock::now() + length / 4;
    std::size_t memory = 0, descriptors = 0;
    std::uint64_t maps = 0;
    {
        Churn const churn(pool);
        for (; Clock::now() < end; ++maps) {
            auto const results = pool.map<square>(range(0, 100'000));
            for (int i = 0; i < 100'000; ++i)
                expect(results[static_cast<std::size_t>(i)] == square(i), text("result ", i));
            if (memory == 0 && Clock::now() >= warm) memory = resident_size(::getpid());
        }
    }
    while (pool.stats().workers > 1) std::this_thread::sleep_for(10ms);
    descriptors = open_descriptors();
    auto const after = resident_size(::getpid());
    auto const stats = pool.stats();
    std::cout << text(maps, " maps of 100,000, ", stats.started, " workers started, ", stats.deaths,
                      " deaths; ", memory >> 10, " KiB, then ", after >> 10, " KiB; ", descriptors,
                      " descriptors\n");
    expect(after < memory + allowed_growth, "it grows");
    expect(descriptors < 64, text(descriptors, " descriptors"));
    expect(stats.deaths == 0, "who is not needed has not died");
}

}  // namespace sinew::testing_support
