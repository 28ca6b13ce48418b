// SPDX-License-Identifier: Apache-2.0
#include <sinew/wait.hpp>

#include <gmock/gmock.h>

#include <chrono>
#include <sinew/error.hpp>
#include <sinew/manager.hpp>
#include <sinew/pool.hpp>
#include <sinew/queue.hpp>
#include <sinew/remote_error.hpp>
#include <sinew/thread_ranks.hpp>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/pool/pool_fixture.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

// Returns when the queue has an item.
int item_of(Queue<int> queue) { return queue.get(); }
int failing(int) { throw std::out_of_range("no such cell"); }
int doubled(int x) { return 2 * x; }

struct Box {
    int take(Queue<int> queue) { return queue.get(); }
};

struct Wait : PoolTest {
    static PoolOptions three_workers() {
        auto options = quiet();
        options.workers = 3;
        return options;
    }
    Pool pool{three_workers()};
};

TEST_F(Wait, ForAllReturnsWhenAllAreReady) {
    std::vector<AsyncResult<int>> results;
    for (int i = 0; i < 100; ++i) results.push_back(pool.apply_async<doubled>(i));
    wait_all(results);
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(results[static_cast<std::size_t>(i)].ready());
        EXPECT_EQ(results[static_cast<std::size_t>(i)].get(), 2 * i);
    }
}

TEST_F(Wait, EndsAtItsLimit) {
    Queue<int> queue;
    std::vector<AsyncResult<int>> results{pool.apply_async<doubled>(1),
                                          pool.apply_async<item_of>(queue)};
    EXPECT_FALSE(wait_all(20ms, results));
    std::vector<AsyncResult<int>> const one{results.back()};
    EXPECT_EQ(wait_any(0ms, one), std::nullopt);
    queue.put(7);
    EXPECT_TRUE(wait_all(60s, results));
    EXPECT_EQ(results[1].get(), 7);
}

TEST_F(Wait, ForAnyTellsWhichIsReady) {
    Queue<int> first, second;
    std::vector<AsyncResult<int>> const results{pool.apply_async<item_of>(first),
                                                pool.apply_async<item_of>(second)};
    second.put(2);
    EXPECT_EQ(wait_any(results), 1U);
    first.put(1);
    results[0].wait();
    EXPECT_EQ(wait_any(results), 0U) << "the first of those that are ready";
    std::vector<AsyncResult<int>> const none;
    EXPECT_THROW(wait_any(none), UsageError);
}

TEST_F(Wait, GivesResultsAsTheyAreCompleted) {
    std::vector<Queue<int>> queues(3);
    std::vector<AsyncResult<int>> results;
    for (auto& queue : queues) results.push_back(pool.apply_async<item_of>(queue));
    std::vector<int> order;
    queues[2].put(2);
    for (auto& result : as_completed(results)) {
        order.push_back(result.get());
        if (order.size() == 1) queues[0].put(0);
        if (order.size() == 2) queues[1].put(1);
    }
    EXPECT_THAT(order, ElementsAre(2, 0, 1));
    std::vector<AsyncResult<int>> none;
    for (auto& result : as_completed(none)) ADD_FAILURE() << result.get();
}

TEST_F(Wait, TakesTasksRepliesAndRequestsTogether) {
    Queue<int> for_task, for_object;
    Manager manager;
    auto box = manager.create<Box>();
    run_thread_ranks(2, [&](Communicator& comm) {
        if (comm.rank() == 1) {
            int go = 0;
            comm.recv(std::span(&go, 1), 0);
            comm.send(std::span<int const>(&go, 1), 0);
            return;
        }
        auto task = pool.apply_async<item_of>(for_task);
        auto reply = box.async<&Box::take>(for_object);
        int got = 0;
        auto request = comm.irecv(std::span(&got, 1), 1);
        for_object.put(5);
        EXPECT_EQ(wait_any(task, reply, request), 1U);
        EXPECT_EQ(reply.get(), 5);
        EXPECT_FALSE(wait_all(10ms, task, reply, request));
        int const go = 3;
        comm.send(std::span(&go, 1), 1);
        EXPECT_EQ(wait_any(task, request), 1U);
        EXPECT_EQ(request.wait().source, 1);
        EXPECT_EQ(got, 3);
        for_task.put(4);
        wait_all(task, reply, request);
        EXPECT_EQ(task.get(), 4);
    });
}

TEST_F(Wait, SeveralThreadsMayWaitForDifferentResults) {
    std::vector<Queue<int>> queues(4);
    std::vector<std::thread> threads;
    for (auto& queue : queues)
        threads.emplace_back([&] {
            std::vector<AsyncResult<int>> results{pool.apply_async<doubled>(4),
                                                  pool.apply_async<doubled>(5)};
            wait_all(results);
            queue.put(results[0].get() + results[1].get());
        });
    for (auto& queue : queues) EXPECT_EQ(queue.get(), 18);
    for (auto& thread : threads) thread.join();
}

TEST_F(Wait, ErrorsAreThereWithoutBeingThrown) {
    auto const good = pool.apply_async<doubled>(1);
    auto const bad = pool.apply_async<failing>(1);
    wait_all(good, bad);
    EXPECT_EQ(good.error(), nullptr);
    ASSERT_NE(bad.error(), nullptr);
    EXPECT_THROW(std::rethrow_exception(bad.error()), std::out_of_range);
    EXPECT_FALSE(bad.cancelled());
    Queue<int> queue;
    auto const never = pool.apply_async<item_of>(queue);
    EXPECT_THROW(never.error(), UsageError) << "it is not ready";
    EXPECT_FALSE(never.cancelled());
    never.cancel();
    never.wait();
    EXPECT_TRUE(never.cancelled());
}

TEST_F(Wait, ErrorsOfRepliesAreThereWithoutBeingThrown) {
    Manager manager;
    auto box = manager.create<Box>();
    Queue<int> queue;
    queue.put(1);
    auto const good = box.async<&Box::take>(queue);
    EXPECT_EQ(good.error(), nullptr);
    queue.close();
    auto const bad = box.async<&Box::take>(queue);
    ASSERT_NE(bad.error(), nullptr);
    EXPECT_THROW(std::rethrow_exception(bad.error()), QueueClosed);
}

}  // namespace
}  // namespace sinew::testing_support
