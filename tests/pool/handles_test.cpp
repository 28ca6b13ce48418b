// SPDX-License-Identifier: Apache-2.0
// Results that are handles of objects in the workers.
#include <gmock/gmock.h>

#include <memory>
#include <numeric>
#include <set>
#include <sinew/pipe.hpp>
#include <sinew/pool.hpp>
#include <sinew/queue.hpp>
#include <sinew/shared.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/pool/pool_fixture.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;

struct HandleResults : PoolTest {
    static PoolOptions two() {
        auto options = quiet();
        options.workers = 2;
        return options;
    }
};

Queue<int> queue_with(int item) {
    static Queue<int> queue;
    queue.put(item);
    return queue;
}

TEST_F(HandleResults, MayBeQueues) {
    Pool pool(two());
    auto queues = pool.map<queue_with>(range(0, 60));
    std::multiset<int> items;
    for (auto& queue : queues) items.insert(queue.get_for(20s).value_or(-1));
    std::vector<int> expected(60);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_THAT(items, testing::ElementsAreArray(expected));
}

TEST_F(HandleResults, MayBeDropped) {
    Pool pool(two());
    { auto const ignored = pool.map_async<queue_with>(range(0, 60)); }
    for (auto const& each : pool.imap<queue_with>(range(0, 60))) {
        static_cast<void>(each);
        break;
    }
    EXPECT_TRUE(pool.apply<queue_with>(7).get_for(20s));
}

Queue<int> queue_of_its_own(int item) {
    Queue<int> queue;
    queue.put(item);
    return queue;
}

// Terminating drops results that have arrived; their destructors take the guard that the pool holds
// meanwhile.
TEST_F(HandleResults, MayBeDroppedByTerminate) {
    Pool pool(two());
    {
        auto const ignored = pool.map_async<queue_of_its_own>(range(0, 100'000));
        while (pool.stats().done < 100) std::this_thread::sleep_for(1ms);
    }
    pool.terminate();
    pool.join();
}

TEST_F(HandleResults, MayBeDroppedWhenAPoolEndsByAnException) {
    EXPECT_THROW(
        {
            Pool pool(two());
            {
                auto const ignored = pool.map_async<queue_of_its_own>(range(0, 100'000));
                while (pool.stats().done < 100) std::this_thread::sleep_for(1ms);
            }
            throw std::runtime_error("on its way up");
        },
        std::runtime_error);
}

Shared<std::string> shared_word(int) {
    static auto const word = share(std::string(100000, 'w'));
    return word;
}

TEST_F(HandleResults, MayBeSharedObjects) {
    Pool pool(two());
    for (auto const& word : pool.map<shared_word>(range(0, 10)))
        EXPECT_TRUE(*word == std::string(100000, 'w'));
}

PipeEnd<std::string> pipe_with_a_word(int) {
    auto [here, there] = sinew::pipe<std::string>();
    here.send("from a worker");
    return std::move(there);
}

TEST_F(HandleResults, MayBeEndsOfPipes) {
    Pool pool(two());
    EXPECT_EQ(pool.apply<pipe_with_a_word>(1).recv(), "from a worker");
}

}  // namespace
}  // namespace sinew::testing_support
