// SPDX-License-Identifier: Apache-2.0
// A queue used within its own process.
#include <gmock/gmock.h>

#include <atomic>
#include <sinew/queue.hpp>
#include <string>
#include <thread>
#include <vector>

namespace sinew {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

TEST(QueueHere, gives_items_in_order) {
    Queue<std::string> queue;
    for (auto const* word : {"a", "", "c"}) queue.put(word);
    EXPECT_EQ(queue.size(), 3U);
    EXPECT_EQ(queue.get(), "a");
    EXPECT_EQ(queue.get(), "");
    EXPECT_EQ(queue.try_get(), "c");
    EXPECT_TRUE(queue.empty());
}

TEST(QueueHere, of_nothing_gives_nothing) {
    Queue<int> queue;
    EXPECT_EQ(queue.try_get(), std::nullopt);
    EXPECT_EQ(queue.get_for(5ms), std::nullopt);
    EXPECT_EQ(queue.reserve_for(5ms), std::nullopt);
    queue.put(1);  // readers that timed out no longer wait
    EXPECT_EQ(queue.try_get(), 1);
}

TEST(QueueHere, wakes_who_waits) {
    Queue<int> queue;
    std::thread reader([&] { EXPECT_EQ(queue.get(), 7); });
    std::this_thread::sleep_for(5ms);
    queue.put(7);
    reader.join();
}

TEST(QueueHere, with_a_bound_makes_writers_wait) {
    Queue<int> queue(2);
    EXPECT_TRUE(queue.try_put(1));
    EXPECT_TRUE(queue.put_for(2, 0s));
    EXPECT_FALSE(queue.try_put(3));
    EXPECT_FALSE(queue.put_for(3, 5ms));
    std::atomic<bool> done = false;
    std::thread writer([&] {
        queue.put(3);
        done = true;
    });
    std::this_thread::sleep_for(5ms);
    EXPECT_FALSE(done);
    EXPECT_EQ(queue.get(), 1);
    writer.join();
    EXPECT_EQ(queue.size(), 2U);
    EXPECT_EQ(queue.get(), 2);
    EXPECT_EQ(queue.get(), 3);
}

TEST(QueueHere, keeps_the_place_of_what_is_reserved) {
    Queue<int> queue(1);
    queue.put(1);
    auto reserved = queue.reserve();
    EXPECT_EQ(queue.size(), 1U);
    EXPECT_FALSE(queue.try_put(2));
    reserved.ack();
    EXPECT_TRUE(queue.try_put(2));
    EXPECT_EQ(queue.get(), 2);
}

TEST(QueueHere, takes_back_what_was_not_acknowledged) {
    Queue<int> queue;
    for (int i = 0; i < 3; ++i) queue.put(i);
    {
        auto const first = queue.reserve();
        EXPECT_EQ(first.value(), 0);
        EXPECT_EQ(queue.get(), 1);
    }
    EXPECT_EQ(queue.get(), 0);
    auto third = queue.reserve();
    third = queue.reserve_for(1ms) ? queue.reserve() : std::move(third);  // there is no fourth
    EXPECT_EQ(third.value(), 2);
    third.ack();
    third.ack();
    third.release();
    EXPECT_TRUE(queue.empty());
}

TEST(QueueHere, that_is_closed_gives_what_it_has_and_ends) {
    Queue<int> queue;
    queue.put(1);
    queue.close();
    queue.close();
    EXPECT_THROW(queue.put(2), QueueClosed);
    EXPECT_THROW((void)queue.try_put(2), QueueClosed);
    EXPECT_EQ(queue.get(), 1);
    EXPECT_THROW(queue.get(), QueueClosed);
    EXPECT_THROW(queue.reserve(), QueueClosed);
    EXPECT_EQ(queue.get_for(1min), std::nullopt);
}

TEST(QueueHere, when_closed_wakes_all_who_wait) {
    Queue<int> readers, writers(1);
    writers.put(0);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] { EXPECT_THROW(readers.get(), QueueClosed); });
        threads.emplace_back([&] { EXPECT_THROW(writers.put(1), QueueClosed); });
    }
    std::this_thread::sleep_for(5ms);
    readers.close();
    writers.close();
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(writers.get(), 0);
}

TEST(QueueHere, is_the_same_after_a_journey) {
    Queue<int> queue;
    Writer writer;
    encode(writer, queue);
    Reader reader(writer.bytes());
    auto copy = decode<Queue<int>>(reader);
    copy.put(5);
    EXPECT_EQ(queue.get(), 5);
}

TEST(QueueHere, that_has_travelled_stays_without_a_handle) {
    Writer writer;
    {
        Queue<int> queue;
        queue.put(5);
        encode(writer, queue);
    }
    Reader reader(writer.bytes());
    auto queue = decode<Queue<int>>(reader);
    EXPECT_EQ(queue.get(), 5);
}

TEST(QueueHere, refuses_an_item_nobody_can_read_once) {
    Queue<int> queue;
    Writer writer;
    encode(writer, queue);
    Reader reader(writer.bytes());
    auto same = decode<Queue<char>>(reader);  // another type: one byte
    same.put('x');
    EXPECT_THROW(queue.reserve(), DecodeError);
    same.put('x');
    EXPECT_THROW(queue.get(), DecodeError);
    EXPECT_TRUE(queue.empty());
}

TEST(QueueHere, loses_and_doubles_nothing_between_threads) {
    constexpr int writers = 3, readers = 3, items = 2000;
    Queue<std::pair<int, int>> queue(16);
    std::vector<std::thread> threads;
    std::mutex guard;
    std::vector<std::vector<bool>> seen(writers, std::vector<bool>(items));
    std::atomic<int> left = writers;
    for (int w = 0; w < writers; ++w)
        threads.emplace_back([&, w] {
            for (int i = 0; i < items; ++i) queue.put({w, i});
            if (--left == 0) queue.close();
        });
    for (int r = 0; r < readers; ++r)
        threads.emplace_back([&] {
            std::vector<int> last(writers, -1);
            while (auto const item = queue.get_for(1min)) {
                auto const [w, i] = *item;
                EXPECT_GT(i, last[static_cast<std::size_t>(w)]);
                last[static_cast<std::size_t>(w)] = i;
                std::lock_guard const lock(guard);
                auto const place = seen[static_cast<std::size_t>(w)].begin() + i;
                EXPECT_FALSE(*place);
                *place = true;
            }
        });
    for (auto& thread : threads) thread.join();
    for (auto const& each : seen) EXPECT_THAT(each, testing::Each(true));
}

}  // namespace
}  // namespace sinew
