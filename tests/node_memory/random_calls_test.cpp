// SPDX-License-Identifier: Apache-2.0
// Random calls of all collectives over one room, by ranks that are threads and pause at random. Every
// element of every result is compared. SINEW_TEST_STORM sets the number of calls.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "src/base/env.hpp"
#include "tests/node_memory/patient_waiter.hpp"
#include "tests/node_memory/random_calls.hpp"

namespace sinew::node_memory {
namespace {

#if defined(SINEW_TEST_TSAN) || defined(SINEW_TEST_ASAN)
constexpr std::uint64_t usual_calls = 6000;
#else
constexpr std::uint64_t usual_calls = 100000;
#endif

/// Calls on so many ranks: more of them on few ranks, which are faster. 2, 3, 4 and 8 ranks together
/// make all.
std::uint64_t calls_on(int ranks) {
    auto const wanted = env("SINEW_TEST_STORM");
    std::uint64_t const all = wanted ? std::stoull(*wanted) : usual_calls;
    return all * 24 / 29 / static_cast<std::uint64_t>(ranks);
}

/// Waits as long as no rank has failed. `crowded`: as one that shares its processor.
class StormWaiter final : public Waiter {
public:
    StormWaiter(std::atomic<bool> const& failed, bool crowded)
        : failed_(failed), crowded_(crowded) {}
    int spins() const override { return 4; }
    int yields() const override { return crowded_ ? 3 : 0; }
    std::chrono::nanoseconds idle(int round, int peer) override {
        if (failed_) throw std::runtime_error("another rank has failed");
        return patient_.idle(round, peer);
    }

private:
    std::atomic<bool> const& failed_;
    bool crowded_;
    PatientWaiter patient_;
};

class RandomCalls : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, RandomCalls, testing::Values(2, 3, 4, 8));

/// `ring` above 0: the rings are that small. `domain_of`: the domains of the ranks, used by all long calls.
void run(int ranks, std::uint64_t seed, std::uint64_t calls, std::uint64_t ring = 0,
         std::vector<int> const& domain_of = {}) {
    std::vector<std::shared_ptr<Arena>> arenas{Arena::make(Source::memfd, ranks)};
    for (int r = 1; r < ranks; ++r) arenas.push_back(Arena::open(arenas[0]->name(), r, ranks));
    for (auto const& arena : arenas) arena->read_private_from_now_on();
    RoomPlace place = arenas[0]->make_room(ranks);
    ASSERT_NE(place.offset, 0u);
    if (ring > 0) place.ring = ring;
    std::atomic<bool> failed = false;
    std::atomic<int> left = ranks;
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r)
        threads.emplace_back([&, r] {
            auto& arena = *arenas[static_cast<std::size_t>(r)];
            // Ranks need not agree on whether they share processors.
            bool const crowded = (static_cast<std::uint64_t>(r) + seed) % 2 == 0;
            StormWaiter waiter(failed, crowded);
            try {
                auto const room = arena.open_room(place, r, ranks);
                room->share_processors(crowded);
                if (!domain_of.empty()) room->use_domains(Domains(domain_of, true));
                RandomRank rank(*room, waiter, arena, seed, true);
                for (std::uint64_t i = 0; i < calls; ++i) rank.call(i);
                // Another rank may still read this one's buffers, if it fails.
                --left;
                while (left > 0 && !failed) std::this_thread::yield();
            } catch (std::exception const& error) {
                if (!failed.exchange(true)) ADD_FAILURE() << error.what();
                --left;
                while (left > 0) std::this_thread::yield();
            }
        });
    for (std::thread& thread : threads) thread.join();
}

TEST_P(RandomCalls, GiveTheRightResults) { run(GetParam(), 17, calls_on(GetParam())); }

// Long messages take many rounds there.
TEST_P(RandomCalls, GiveTheRightResultsInSmallRings) {
    run(GetParam(), 29, calls_on(GetParam()) / 8, std::uint64_t{64} << 10);
}

class RandomCallsByDomain : public testing::TestWithParam<std::vector<int>> {
protected:
    int ranks() const { return static_cast<int>(GetParam().size()); }
};
INSTANTIATE_TEST_SUITE_P(Domains, RandomCallsByDomain,
                         testing::Values(std::vector{0, 0, 1}, std::vector{0, 0, 1, 1},
                                         std::vector{0, 1, 0, 1, 0}, std::vector{0, 0, 0, 1, 2, 2},
                                         std::vector{0, 0, 1, 1, 2, 2, 3, 3}));

TEST_P(RandomCallsByDomain, GiveTheRightResults) {
    run(ranks(), 41, calls_on(ranks()) / 8, 0, GetParam());
}
TEST_P(RandomCallsByDomain, GiveTheRightResultsInSmallRings) {
    run(ranks(), 43, calls_on(ranks()) / 8, std::uint64_t{64} << 10, GetParam());
}

}  // namespace
}  // namespace sinew::node_memory
