// SPDX-License-Identifier: Apache-2.0
// Queues between processes.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <sinew/queue.hpp>
#include <thread>
#include <vector>

#include "tests/process/queue/queue_support.hpp"

namespace sinew::process {
namespace {

using namespace std::chrono_literals;
using test::Record;
using test::start;
using Records = std::vector<Record>;

template <class... Values>
std::tuple<Values...> values(ChildStart const& start) {
    Reader reader(start.message);
    return std::tuple<Values...>{decode<Values>(reader)...};  // braces: evaluation in this order
}

/// A user's class with a queue in it, as it is sent.
struct Task {
    std::string name;
    Queue<std::string> answers;
    template <class Archive>
    void serialize(Archive& archive) {
        archive(name, answers);
    }
};

int write(ChildStart& start) {
    auto [queue, writer, count] = values<Queue<Record>, int, int>(start);
    for (int i = 0; i < count; ++i) queue.put({writer, i});
    return 0;
}

int read(ChildStart& start) {
    auto [queue, results] = values<Queue<Record>, Queue<Records>>(start);
    Records got;
    while (auto const record = queue.get_for(1min)) got.push_back(*record);
    results.put(got);
    return 0;
}

int wait_for_item(ChildStart& start) {
    auto [queue, answers] = values<Queue<int>, Queue<int>>(start);
    answers.put(queue.get());
    return 0;
}

int reserve_one(ChildStart& start) {
    auto [queue, answers] = values<Queue<int>, Queue<int>>(start);
    auto const reserved = queue.reserve();
    answers.put(reserved.value());
    std::this_thread::sleep_for(1min);
    return 0;
}

int release_and_acknowledge(ChildStart& start) {
    auto [queue] = values<Queue<int>>(start);
    { auto const first = queue.reserve(); }
    auto again = queue.reserve();
    again.ack();
    return again.value();
}

int use_bounded(ChildStart& start) {
    auto [queue, full] = values<Queue<int>, Queue<bool>>(start);
    if (!queue.try_put(1) || queue.try_put(2) || queue.put_for(2, 5ms)) return 1;
    if (queue.size() != 1) return 2;
    full.put(true);
    queue.put(3);  // after the test has taken 1
    return 0;
}

int be_refused(ChildStart& start) {
    auto [queue] = values<Queue<int>>(start);
    try {
        for (;;) {
            queue.put(1);
            std::this_thread::sleep_for(1ms);
        }
    } catch (QueueClosed const&) {
        return 0;
    }
}

int try_all(ChildStart& start) {
    auto [queue] = values<Queue<std::string>>(start);
    if (queue.try_get() != "a" || queue.try_get() || queue.get_for(5ms)) return 1;
    queue.put(std::string(1 << 20, 'x'));
    auto const large = queue.try_get();
    return large && large->size() == 1 << 20 && queue.empty() ? 0 : 2;
}

int echo(ChildStart& start) {
    auto [in, out] = values<Queue<std::vector<char>>, Queue<std::vector<char>>>(start);
    while (auto const item = in.get_for(10min)) out.put(*item);
    return 0;
}

int answer_tasks(ChildStart& start) {
    auto [queue] = values<Queue<Task>>(start);
    while (auto task = queue.get_for(1min)) task->answers.put("hello " + task->name);
    return 0;
}

bool const queue_roles_added = [] {
    for (ChildRole const role : {ChildRole{"write", write},
                                 {"read", read},
                                 {"wait", wait_for_item},
                                 {"reserve", reserve_one},
                                 {"release", release_and_acknowledge},
                                 {"bounded", use_bounded},
                                 {"refused", be_refused},
                                 {"try", try_all},
                                 {"echo", echo},
                                 {"answer", answer_tasks}})
        add_role(role);
    return true;
}();

/// Expects every record of every writer exactly once.
void expect_all(Records got, int writers, int count) {
    std::sort(got.begin(), got.end());
    ASSERT_EQ(got.size(), static_cast<std::size_t>(writers * count));
    for (int i = 0; i < writers * count; ++i)
        ASSERT_EQ(got[static_cast<std::size_t>(i)], (Record{i / count, i % count}));
}

void expect_order(Records const& got) {
    std::map<int, int> last;
    for (auto const& record : got) {
        auto const [entry, first] = last.try_emplace(record.writer, -1);
        EXPECT_GT(record.number, entry->second) << "of writer " << record.writer;
        entry->second = record.number;
    }
}

TEST(Queue, brings_each_item_of_many_writers_to_one_reader_in_order) {
    constexpr int writers = 3, count = 20000;
    Queue<Record> queue;
    std::vector<std::unique_ptr<test::Heard>> children;
    for (int i = 0; i < writers; ++i) children.push_back(start("write", queue, i, count));
    Records got;
    for (int i = 0; i < writers * count; ++i) got.push_back(queue.get());
    expect_order(got);
    expect_all(got, writers, count);
    for (auto const& child : children) test::expect_success(*child);
}

TEST(Queue, brings_each_item_of_many_writers_to_one_of_many_readers) {
    constexpr int writers = 3, readers = 3, count = 5000;
    Queue<Record> queue;
    Queue<Records> results;
    std::vector<std::unique_ptr<test::Heard>> wrote, reading;
    for (int i = 0; i < readers; ++i) reading.push_back(start("read", queue, results));
    for (int i = 0; i < writers; ++i) wrote.push_back(start("write", queue, i, count));
    for (auto const& child : wrote) test::expect_success(*child);
    queue.close();
    Records all;
    for (int i = 0; i < readers; ++i) {
        auto const part = results.get_for(1min);
        ASSERT_TRUE(part);
        all.insert(all.end(), part->begin(), part->end());
    }
    expect_all(all, writers, count);
    for (auto const& child : reading) test::expect_success(*child);
}

TEST(Queue, brings_items_in_order_to_one_reader_elsewhere) {
    constexpr int count = 50000;
    Queue<Record> queue;
    Queue<Records> results;
    auto const reader = start("read", queue, results);
    for (int i = 0; i < count; ++i) queue.put({0, i});
    queue.close();
    auto const got = results.get_for(1min);
    ASSERT_TRUE(got);
    expect_order(*got);
    expect_all(*got, 1, count);
    test::expect_success(*reader);
}

TEST(Queue, wakes_a_reader_elsewhere) {
    Queue<int> queue, answers;
    auto const child = start("wait", queue, answers);
    std::this_thread::sleep_for(20ms);
    queue.put(42);
    EXPECT_EQ(answers.get_for(1min), 42);
    test::expect_success(*child);
}

TEST(Queue, takes_back_what_a_killed_reader_had_reserved) {
    Queue<int> queue, answers;
    for (int i = 0; i < 3; ++i) queue.put(i);
    auto const child = start("reserve", queue, answers);
    EXPECT_EQ(answers.get_for(1min), 0);
    child->signal(SIGKILL);
    child->wait_for_end();
    while (queue.size() != 3) std::this_thread::sleep_for(1ms);
    // The connection may end after the process; until then 1 is not back.
    Records got;
    for (int i = 0; i < 3; ++i) got.push_back({0, queue.get()});
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, (Records{{0, 0}, {0, 1}, {0, 2}}));
}

TEST(Queue, forgets_a_killed_reader_that_waited) {
    Queue<int> queue, answers;
    auto const child = start("wait", queue, answers);
    std::this_thread::sleep_for(100ms);
    child->signal(SIGKILL);
    child->wait_for_end();
    queue.put(1);
    EXPECT_EQ(queue.get_for(1min), 1);
}

TEST(Queue, takes_back_and_acknowledges_for_a_reader_elsewhere) {
    Queue<int> queue;
    queue.put(7);
    auto const child = start("release", queue);
    EXPECT_EQ(child->wait_for_end().code, 7);
    EXPECT_EQ(queue.size(), 0U);
}

TEST(Queue, with_a_bound_makes_writers_elsewhere_wait) {
    Queue<int> queue(1);
    Queue<bool> full;
    auto const child = start("bounded", queue, full);
    EXPECT_EQ(full.get_for(1min), true);
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(queue.size(), 1U);
    EXPECT_EQ(queue.get_for(1min), 1);
    EXPECT_EQ(queue.get_for(1min), 3);
    test::expect_success(*child);
}

TEST(Queue, closed_here_refuses_writers_elsewhere) {
    Queue<int> queue, bounded(1);
    bounded.put(1);
    auto const first = start("refused", queue);
    auto const second = start("refused", bounded);
    EXPECT_EQ(queue.get_for(1min), 1);
    queue.close();
    bounded.close();
    test::expect_success(*first);
    test::expect_success(*second);
}

TEST(Queue, can_be_tried_from_elsewhere) {
    Queue<std::string> queue;
    queue.put("a");
    auto const child = start("try", queue);
    test::expect_success(*child);
}

TEST(Queue, travels_in_classes_and_in_other_queues) {
    Queue<Task> tasks;
    auto const child = start("answer", tasks);
    Queue<std::string> answers;
    tasks.put({"you", answers});
    EXPECT_EQ(answers.get_for(1min), "hello you");
    tasks.close();
    test::expect_success(*child);
}

class QueueSizes : public testing::TestWithParam<std::size_t> {};

TEST_P(QueueSizes, do_not_matter) {
    Queue<std::vector<char>> there, back;
    auto const child = start("echo", there, back);
    std::vector<char> item(GetParam());
    for (std::size_t i = 0; i < item.size(); i += 61) item[i] = static_cast<char>(i * 7);
    std::vector<char> const small(3, 's');
    there.put(item);
    there.put(small);
    auto const got = back.get_for(10min);
    ASSERT_TRUE(got);
    EXPECT_TRUE(*got == item);
    EXPECT_EQ(back.get_for(10min), small);
    there.close();
    test::expect_success(*child);
}

INSTANTIATE_TEST_SUITE_P(Small, QueueSizes,
                         testing::Values(0, 1, 1000, 16 << 10, (64 << 10) - 9, (64 << 10) - 8,
                                         (64 << 10) - 7, 1 << 20, (1 << 20) + 1, 20'000'000));

}  // namespace
}  // namespace sinew::process
