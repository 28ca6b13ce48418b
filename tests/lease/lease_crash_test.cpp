// SPDX-License-Identifier: Apache-2.0
// Processes that are killed at any moment, while they wait, choose, hold or release.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <list>
#include <new>
#include <random>
#include <sinew/lease.hpp>

#include "tests/lease/support/lessee.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::lease::test {
namespace {

constexpr int gpus = 4;
constexpr std::uint64_t memory = 1000;
constexpr int most_processes = 20'000;

/// In memory that all processes share: who says that it has which GPU, by a way that has nothing to
/// do with leases. A killed process cannot take its word back, so whoever kills it says so before.
struct Witness {
    std::array<std::atomic<int>, gpus> holder{};  // number of the process; 0: nobody
    std::array<std::atomic<bool>, most_processes> killed{};
    std::atomic<int> grants{0}, violations{0}, errors{0};

    void take(int gpu, int process) {
        auto& word = holder[static_cast<std::size_t>(gpu)];
        for (int before = 0; !word.compare_exchange_strong(before, process);)
            if (before != 0 && !killed[static_cast<std::size_t>(before)]) {
                ++violations;
                return;
            }
    }
    void give_back(int gpu, int process) {
        int before = process;
        if (!holder[static_cast<std::size_t>(gpu)].compare_exchange_strong(before, 0)) ++violations;
    }
};

class SharedWitness {
public:
    SharedWitness() {
        void* const memory_of_all = ::mmap(nullptr, sizeof(Witness), PROT_READ | PROT_WRITE,
                                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory_of_all == MAP_FAILED) throw std::bad_alloc();
        witness_ = new (memory_of_all) Witness;
    }
    SharedWitness(SharedWitness const&) = delete;
    ~SharedWitness() { ::munmap(witness_, sizeof(Witness)); }
    Witness& operator*() const { return *witness_; }
    Witness* operator->() const { return witness_; }

private:
    Witness* witness_ = nullptr;
};

// Leases again and again; the request and the time that it is held are random.
int lease_for_ever(Witness& witness, LeaseOptions const& options, int process) {
    std::mt19937 random(static_cast<unsigned>(process));
    try {
        for (;;) {
            LeaseRequest const request{.gpus = 1 + static_cast<int>(random() % gpus),
                                       .memory_bytes = 1 + random() % (memory / 2)};
            auto const lease = random() % 4 == 0 ? Lease::try_acquire(request, options)
                                                 : Lease::acquire(request, options);
            if (!lease) continue;
            ++witness.grants;
            for (auto const& gpu : lease->gpus()) witness.take(gpu.index, process);
            ::usleep(random() % 1000);
            for (auto const& gpu : lease->gpus()) witness.give_back(gpu.index, process);
        }
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        ++witness.errors;
    }
    return 1;
}

TEST(LeaseCrash, NeverGivesAGpuToTwoAndLosesNoneHoweverManyAreKilled) {
    constexpr auto duration = std::chrono::milliseconds(SINEW_LEASE_STORM_MS);
    constexpr std::size_t at_a_time = 8;
    Environment const environment{{"FAKE_NVML", "fails 9"}};
    testing_support::TempFolder const temporary;
    LeaseOptions const options{.folder = temporary.path() / "leases",
                               .set_environment = false,
                               .gpus_of_host = gpus,
                               .memory_of_host = memory};
    SharedWitness const witness;
    struct Running {
        Running(int number_of_process, Witness& shared, LeaseOptions const& its_options)
            : number(number_of_process), child(fork_child([&] {
                  return lease_for_ever(shared, its_options, number_of_process);
              })) {}
        int number;
        testing_support::Child child;
    };
    std::list<Running> running;
    std::list<testing_support::Child> dying;
    int started = 0, killed = 0;
    std::mt19937 random(1);
    auto const end = std::chrono::steady_clock::now() + duration;
    while (std::chrono::steady_clock::now() < end && started + 1 < most_processes) {
        while (running.size() < at_a_time) {
            int const number = ++started;
            running.emplace_back(number, *witness, options);
        }
        ::usleep(random() % 4000);
        auto const victim =
            std::next(running.begin(), static_cast<std::ptrdiff_t>(random() % at_a_time));
        witness->killed[static_cast<std::size_t>(victim->number)] = true;
        victim->child.kill(SIGKILL);
        dying.push_back(std::move(victim->child));  // it dies while the next one starts
        if (dying.size() > 4) dying.pop_front();
        running.erase(victim);
        ++killed;
    }
    for (auto& each : running) {
        witness->killed[static_cast<std::size_t>(each.number)] = true;
        each.child.kill(SIGKILL);
    }
    running.clear();
    dying.clear();
    std::printf("%d processes killed, %d leases granted\n", killed, witness->grants.load());
    std::fflush(stdout);  // before the next fork
    EXPECT_EQ(witness->violations, 0);
    EXPECT_EQ(witness->errors, 0);
    EXPECT_GT(witness->grants, killed / 4) << "leases are granted at all";
    EXPECT_EQ(queue_length(options.folder), 0);
    EXPECT_EQ(count_locks(options.folder, layout::holders), 0);
    auto const all = Lease::try_acquire({.gpus = gpus, .memory_bytes = memory}, options);
    ASSERT_TRUE(all.has_value()) << "a lease was lost";
    EXPECT_EQ(all->gpus().size(), static_cast<std::size_t>(gpus));
}

}  // namespace
}  // namespace sinew::lease::test
