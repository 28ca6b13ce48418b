// SPDX-License-Identifier: Apache-2.0
// Readers and owners of queues that are killed.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <random>
#include <sinew/queue.hpp>
#include <thread>
#include <vector>

#include "tests/process/queue/queue_support.hpp"

namespace sinew::process {
namespace {

using namespace std::chrono_literals;
using test::start;

/// Passes items on, and acknowledges each one afterwards.
int pass_on(ChildStart& start) {
    Reader reader(start.message);
    auto from = decode<Queue<int>>(reader), to = decode<Queue<int>>(reader);
    for (;;) {
        auto item = from.reserve();
        to.put(item.value());
        item.ack();
    }
}

/// Reads some items quickly, so that others are sent ahead, and then stops reading.
int read_some(ChildStart& start) {
    Reader reader(start.message);
    auto from = decode<Queue<int>>(reader), done = decode<Queue<int>>(reader);
    auto const count = decode<int>(reader);
    for (int i = 0; i < count; ++i)
        if (from.get() != i) return 1;
    std::this_thread::sleep_for(50ms);  // acknowledgements follow within a millisecond
    done.put(1);
    std::this_thread::sleep_for(10min);
    return 0;
}

struct Owned {
    Queue<int> empty, full;
    template <class Archive>
    void serialize(Archive& archive) {
        archive(empty, full);
    }
};

int own(ChildStart& start) {
    Reader reader(start.message);
    auto handles = decode<Queue<Owned>>(reader);
    Owned owned{Queue<int>(), Queue<int>(1)};
    owned.full.put(1);
    handles.put(owned);
    std::this_thread::sleep_for(10min);
    return 0;
}

bool const queue_death_roles_added = [] {
    for (ChildRole const role :
         {ChildRole{"pass on", pass_on}, {"read some", read_some}, {"own", own}})
        add_role(role);
    return true;
}();

TEST(QueueDeath, of_readers_loses_nothing) {
    constexpr int items = 3000, most_kills = 12;
    Queue<int> from, to;
    std::vector<std::unique_ptr<test::Heard>> readers;
    for (int i = 0; i < 3; ++i) readers.push_back(start("pass on", from, to));
    std::thread writer([&] {
        for (int i = 0; i < items; ++i) from.put(i);
    });
    std::mt19937 random(1);
    std::vector<int> seen(items);
    int left = items, twice = 0, kills = 0;
    while (left > 0) {
        auto const item = to.get_for(60s);
        ASSERT_TRUE(item) << left << " are missing";
        if (seen[static_cast<std::size_t>(*item)]++ == 0) --left;
        else ++twice;
        if (kills < most_kills && random() % 150 == 0) {
            auto& victim = readers[random() % readers.size()];
            victim->signal(SIGKILL);
            victim = start("pass on", from, to);
            ++kills;
        }
    }
    writer.join();
    EXPECT_GT(kills, 0);
    // Each reader may have put one item that it did not acknowledge.
    EXPECT_LE(twice, kills);
    while (from.size() > 0) std::this_thread::sleep_for(1ms);
}

TEST(QueueDeath, of_a_reader_gives_back_what_it_was_sent_ahead) {
    constexpr int items = 3000, taken = 1000;
    Queue<int> queue, done;
    for (int i = 0; i < items; ++i) queue.put(i);
    auto const child = start("read some", queue, done, taken);
    ASSERT_EQ(done.get_for(1min), 1);
    child->signal(SIGKILL);
    child->wait_for_end();
    std::vector<bool> seen(items);
    for (int i = taken; i < items; ++i) {
        auto const item = queue.get_for(1min);
        ASSERT_TRUE(item);
        EXPECT_GE(*item, taken);
        EXPECT_FALSE(seen[static_cast<std::size_t>(*item)]);
        seen[static_cast<std::size_t>(*item)] = true;
    }
    EXPECT_EQ(queue.size(), 0U);
}

TEST(QueueDeath, is_not_needed_to_call_items_back) {
    constexpr int items = 1200, taken = 1000;
    Queue<int> queue, done;
    for (int i = 0; i < items; ++i) queue.put(i);
    auto const child = start("read some", queue, done, taken);
    ASSERT_EQ(done.get_for(1min), 1);
    for (int i = taken; i < items; ++i) ASSERT_TRUE(queue.get_for(1min)) << i;
    EXPECT_EQ(queue.size(), 0U);
}

TEST(QueueDeath, of_the_owner_ends_all_who_wait) {
    Queue<Owned> handles;
    auto const child = start("own", handles);
    auto owned = handles.get();
    std::atomic<int> ended = 0;
    std::vector<std::thread> threads;
    auto const waits = [&](auto call) {
        threads.emplace_back([&ended, call]() mutable {
            EXPECT_THROW(call(), PeerLost);
            ++ended;
        });
    };
    waits([q = owned.empty]() mutable { q.get(); });
    waits([q = owned.empty]() mutable { q.get_for(10min); });
    waits([q = owned.empty]() mutable { q.reserve(); });
    waits([q = owned.full]() mutable { q.put(2); });
    waits([q = owned.full]() mutable { (void)q.put_for(2, 10min); });
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(ended, 0);
    auto const before = std::chrono::steady_clock::now();
    child->signal(SIGKILL);
    for (auto& thread : threads) thread.join();
    EXPECT_LT(std::chrono::steady_clock::now() - before, 10s);
    EXPECT_THROW(owned.empty.put(1), PeerLost);
    EXPECT_THROW((void)owned.empty.try_get(), PeerLost);
    EXPECT_THROW((void)owned.full.try_put(1), PeerLost);
    EXPECT_THROW((void)owned.full.size(), PeerLost);
    EXPECT_THROW(owned.full.close(), PeerLost);
}

// Only its silence shows that it is stopped.
TEST(QueueDeath, an_owner_that_is_stopped_holds_nobody_longer_than_asked) {
    Queue<Owned> handles;
    auto const child = start("own", handles);
    auto owned = handles.get();
    EXPECT_FALSE(owned.empty.try_get());
    EXPECT_FALSE(owned.full.try_put(2));
    child->signal(SIGSTOP);
    EXPECT_FALSE(owned.empty.get_for(10ms));
    EXPECT_FALSE(owned.empty.try_get());
    EXPECT_THROW((void)owned.full.put_for(2, 10ms), Timeout);
    EXPECT_THROW((void)owned.full.try_put(2), Timeout);
    child->signal(SIGCONT);
    EXPECT_EQ(owned.full.get_for(1min), 1);
    owned.empty.put(7);
    EXPECT_EQ(owned.empty.get_for(1min), 7);
}

TEST(QueueDeath, of_the_owner_before_its_queue_is_used) {
    Queue<Owned> handles;
    auto const child = start("own", handles);
    auto owned = handles.get();
    child->signal(SIGKILL);
    child->wait_for_end();
    EXPECT_THROW(owned.empty.get(), PeerLost);
}

}  // namespace
}  // namespace sinew::process
