// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <atomic>
#include <csignal>
#include <numeric>
#include <sinew/manager.hpp>
#include <sinew/process.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/leak_check.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using managed::Queue;

struct ManagedQueue : testing::Test {
    LeakCheck leaks;
    Manager manager;
};

TEST_F(ManagedQueue, GivesItemsInTheirOrder) {
    auto const queue = manager.queue<std::string>();
    EXPECT_EQ(queue.try_get(), std::nullopt);
    EXPECT_EQ(queue.get_for(10ms), std::nullopt);
    queue.put("one");
    queue.put("two");
    EXPECT_EQ(queue.size(), 2U);
    EXPECT_EQ(queue.get(), "one");
    EXPECT_EQ(queue.try_get(), "two");
    EXPECT_TRUE(queue.empty());
}

TEST_F(ManagedQueue, ABoundMakesWritersWait) {
    auto const queue = manager.queue<int>(2);
    queue.put(1);
    EXPECT_TRUE(queue.try_put(2));
    EXPECT_FALSE(queue.try_put(3));
    EXPECT_FALSE(queue.put_for(3, 20ms));
    auto const waiting = queue.async().put(4);
    EXPECT_FALSE(waiting.wait_for(20ms));
    EXPECT_EQ(queue.get(), 1);
    waiting.get();
    EXPECT_EQ(queue.get(), 2);
    EXPECT_EQ(queue.get(), 4);
}

TEST_F(ManagedQueue, IsClosed) {
    auto const queue = manager.queue<int>(1);
    queue.put(1);
    auto const put = queue.async().put(2);
    queue.close();
    EXPECT_THROW(put.get(), QueueClosed);
    EXPECT_THROW(queue.put(3), QueueClosed);
    EXPECT_EQ(queue.get(), 1);
    EXPECT_THROW(queue.get(), QueueClosed);
    EXPECT_EQ(queue.get_for(1s), std::nullopt);
    auto const other = manager.queue<int>();
    auto const get = other.async().get();
    other.close();
    EXPECT_THROW(get.get(), QueueClosed);
}

TEST_F(ManagedQueue, IsWorkedOff) {
    auto const queue = manager.queue<int>();
    EXPECT_TRUE(queue.join_for(0ms));
    queue.put(1);
    queue.put(2);
    queue.get();
    queue.done();
    EXPECT_FALSE(queue.join_for(10ms));
    auto const joined = queue.async().join();
    queue.get();
    queue.done();
    joined.get();
    EXPECT_THROW(queue.done(), UsageError);
}

int produce(Queue<int> const& queue, int first, int count) {
    for (int i = 0; i < count; ++i) queue.put(first + i);
    return 0;
}

TEST_F(ManagedQueue, ManyWritersAndReaders) {
    auto const queue = manager.queue<int>(10);
    Process one(task<produce>, queue, 0, 500), two(task<produce>, queue, 500, 500);
    one.start();
    two.start();
    std::atomic<int> sum{0};
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i)
            threads.emplace_back([&] {
                for (int each = 0; each < 125; ++each) sum += queue.get();
            });
    }
    EXPECT_EQ(sum.load(), 999 * 1000 / 2);
    EXPECT_TRUE(queue.empty());
}

int put_and_die(Queue<int> const& queue) {
    queue.put(1);
    static_cast<void>(queue.async().put(2));
    static_cast<void>(queue.async().put(3));
    queue.size();
    ::raise(SIGKILL);
    return 0;
}

// Its items stay; an item that it waited to put is not added.
TEST_F(ManagedQueue, OutlivesAWriterThatIsKilled) {
    auto const queue = manager.queue<int>(1);
    Process process(task<put_and_die>, queue);
    process.start();
    process.join();
    std::this_thread::sleep_for(200ms);
    EXPECT_EQ(queue.get(), 1);
    EXPECT_EQ(queue.get_for(100ms), std::nullopt);
    auto const get = queue.async().get();
    queue.put(4);
    EXPECT_EQ(get.get(), 4);
}

int get_and_die(Queue<int> const& queue) {
    static_cast<void>(queue.async().get());
    queue.size();
    ::raise(SIGKILL);
    return 0;
}

TEST_F(ManagedQueue, DoesNotGiveItemsToTheDead) {
    auto const queue = manager.queue<int>();
    Process process(task<get_and_die>, queue);
    process.start();
    process.join();
    std::this_thread::sleep_for(200ms);
    queue.put(1);
    EXPECT_EQ(queue.get_for(10s), 1);
}

int end_one_of_two(Queue<int> const& queue) {
    queue.get();
    queue.done();
    queue.get();
    ::raise(SIGKILL);
    return 0;
}

TEST_F(ManagedQueue, JoinsDoNotWaitForTheDead) {
    auto const queue = manager.queue<int>();
    for (int i = 0; i < 3; ++i) queue.put(i);
    Process process(task<end_one_of_two>, queue);
    process.start();
    auto const joined = queue.async().join();
    process.join();
    EXPECT_FALSE(joined.wait_for(50ms));
    EXPECT_EQ(queue.get(), 2);
    queue.done();
    EXPECT_THROW(joined.get(10s), PeerLost);
}

TEST_F(ManagedQueue, AThousandReadersWaitWithoutThreads) {
    auto const queue = manager.queue<int>();
    std::vector<Reply<int>> waiting;
    for (int i = 0; i < 1000; ++i) waiting.push_back(queue.async().get());
    EXPECT_TRUE(queue.empty());
    for (int i = 0; i < 1000; ++i) queue.async().put(i);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(waiting[static_cast<std::size_t>(i)].get(), i);
}

TEST_F(ManagedQueue, AsyncManagersGiveAsyncOnes) {
    AsyncManager async;
    auto const queue = async.queue<int>();
    Reply<int> const got = queue.get();
    queue.put(5).get();
    EXPECT_EQ(got.get(), 5);
}

}  // namespace
}  // namespace sinew::testing_support
