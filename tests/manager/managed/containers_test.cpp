// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstdint>
#include <sinew/manager.hpp>
#include <sinew/pool.hpp>
#include <sinew/process.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/leak_check.hpp"
#include "tests/support/message_of.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

struct ManagedContainers : testing::Test {
    LeakCheck leaks;
    Manager manager;
};

TEST_F(ManagedContainers, Lists) {
    auto const list = manager.list<int>({3, 1});
    list.push_back(2);
    list.extend({5, 4});
    EXPECT_EQ(list.size(), 5U);
    EXPECT_EQ(list.at(0), 3);
    EXPECT_EQ(list[1], 1);
    list.sort();
    EXPECT_THAT(list.copy(), ElementsAre(1, 2, 3, 4, 5));
    list.reverse();
    EXPECT_THAT(list.slice(1, 2), ElementsAre(4, 3));
    list.insert(0, 9);
    list.insert(6, 9);
    EXPECT_EQ(list.count(9), 2U);
    EXPECT_EQ(list.index(4), 2U);
    EXPECT_EQ(list.index(77), std::nullopt);
    EXPECT_TRUE(list.remove(9));
    EXPECT_FALSE(list.remove(77));
    EXPECT_EQ(list.pop_back(), 9);
    EXPECT_EQ(list.pop(0), 5);
    list.set(0, 44);
    list.erase(1);
    EXPECT_THAT(list.copy(), ElementsAre(44, 2, 1));
    list.clear();
    EXPECT_TRUE(list.empty());
    EXPECT_THAT(message_of<std::out_of_range>([&] { list.at(7); }), HasSubstr("index 7 of a list"));
    EXPECT_THROW(list.pop_back(), std::out_of_range);
    EXPECT_THROW(list.insert(1, 1), std::out_of_range);
    EXPECT_THROW(list.slice(0, 1), std::out_of_range);
}

struct Point {
    double x = 0, y = 0;
};

TEST_F(ManagedContainers, ListsOfWhatHasNoOrder) {
    auto const list = manager.list<Point>();
    list.push_back({1, 2});
    EXPECT_EQ(list.at(0).y, 2);
    auto const lists = manager.list<managed::List<Point>>();
    lists.push_back(list);
    lists.at(0).push_back({3, 4});
    EXPECT_EQ(list.size(), 2U) << "handles may be elements";
}

TEST_F(ManagedContainers, Dictionaries) {
    auto const dict = manager.dict<std::string, double>({{"b", 2}, {"a", 1}});
    dict.set("c", 3);
    EXPECT_EQ(dict.get("c"), 3);
    EXPECT_EQ(dict.get("d"), std::nullopt);
    EXPECT_EQ(dict.at("a"), 1);
    EXPECT_THROW(dict.at("d"), std::out_of_range);
    EXPECT_EQ(dict.get_or("d", 7), 7);
    EXPECT_EQ(dict.setdefault("d", 4), 4);
    EXPECT_EQ(dict.setdefault("d", 5), 4);
    EXPECT_TRUE(dict.contains("d"));
    EXPECT_EQ(dict.pop("d"), 4);
    EXPECT_EQ(dict.pop("d"), std::nullopt);
    EXPECT_FALSE(dict.erase("d"));
    EXPECT_EQ(dict.add("a", 0.5), 1.5);
    EXPECT_EQ(dict.add("e", 0.5), 0.5);
    EXPECT_TRUE(dict.erase("e"));
    dict.update({{"b", 20}, {"z", 26}});
    EXPECT_THAT(dict.keys(), ElementsAre("a", "b", "c", "z"));
    EXPECT_THAT(dict.values(), ElementsAre(1.5, 20, 3, 26));
    EXPECT_THAT(dict.items(),
                ElementsAre(Pair("a", 1.5), Pair("b", 20), Pair("c", 3), Pair("z", 26)));
    EXPECT_EQ(dict.size(), 4U);
    dict.clear();
    EXPECT_TRUE(dict.empty());
}

TEST_F(ManagedContainers, Values) {
    auto const value = manager.value<int>(1);
    EXPECT_EQ(value.get(), 1);
    value.set(2);
    EXPECT_EQ(value.exchange(3), 2);
    EXPECT_FALSE(value.compare_exchange(2, 9));
    EXPECT_TRUE(value.compare_exchange(3, 4));
    EXPECT_EQ(value.fetch_add(6), 4);
    EXPECT_EQ(value.get(), 10);
    auto const text = manager.value<std::string>();
    text.set("words");
    EXPECT_EQ(text.fetch_add(" and more"), "words");
    EXPECT_EQ(text.get(), "words and more");
    EXPECT_EQ(manager.value<Point>({1, 2}).get().x, 1);
}

TEST_F(ManagedContainers, Arrays) {
    auto const array = manager.array<double>(100);
    EXPECT_EQ(array.size(), 100U);
    EXPECT_EQ(array.get(99), 0);
    array.set(99, 1.5);
    array.write(97, {7, 8});
    EXPECT_THAT(array.read(97, 3), ElementsAre(7, 8, 1.5));
    EXPECT_THROW(array.read(98, 3), std::out_of_range);
    EXPECT_THROW(array.write(99, {1, 2}), std::out_of_range);
    EXPECT_THROW(array.get(100), std::out_of_range);
    EXPECT_THROW(array.read(1, SIZE_MAX), std::out_of_range);
    array.fill(2);
    EXPECT_EQ(array.copy(), std::vector<double>(100, 2));
    EXPECT_THAT(manager.array<int>(std::vector{1, 2, 3}).copy(), ElementsAre(1, 2, 3));
}

TEST_F(ManagedContainers, Namespaces) {
    auto const space = manager.space();
    space.set("x", 3);
    space.set("words", "some words");
    space.set("point", Point{1, 2});
    EXPECT_EQ(space.get<int>("x"), 3);
    EXPECT_EQ(space.get<std::string>("words"), "some words");
    EXPECT_EQ(space.get<Point>("point").y, 2);
    EXPECT_THAT(message_of<UsageError>([&] { space.get<double>("x"); }),
                HasSubstr("x is a int, not a double"));
    EXPECT_THAT(message_of<std::out_of_range>([&] { space.get<int>("z"); }), HasSubstr("no z"));
    space.set("x", 4.5);
    EXPECT_EQ(space.get<double>("x"), 4.5);
    EXPECT_THAT(space.names(), ElementsAre("point", "words", "x"));
    EXPECT_TRUE(space.erase("x"));
    EXPECT_FALSE(space.contains("x"));
}

TEST_F(ManagedContainers, Counters) {
    auto const counter = manager.counter(40);
    EXPECT_EQ(counter.add(2), 42);
    EXPECT_EQ(counter.add(), 43);
    counter.count(-3);
    EXPECT_EQ(counter.get(), 40);
    EXPECT_EQ(counter.reset(), 40);
    EXPECT_EQ(counter.get(), 0);
}

int fill(managed::List<int> const& list, managed::Dict<int, int> const& dict,
         managed::Counter const& counter) {
    for (int i = 0; i < 50; ++i) {
        list.push_back(i);
        dict.add(i % 10, 1);
        counter.count();
    }
    return 0;
}

TEST_F(ManagedContainers, AreSharedByProcessesTasksAndThreads) {
    auto const list = manager.list<int>();
    auto const dict = manager.dict<int, int>();
    auto const counter = manager.counter();
    Process process(task<fill>, list, dict, counter);
    process.start();
    Pool pool(2);
    std::vector<std::tuple<managed::List<int>, managed::Dict<int, int>, managed::Counter>> all(
        5, {list, dict, counter});
    pool.starmap<&fill>(all);
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i) threads.emplace_back([&] { fill(list, dict, counter); });
    }
    process.join();
    EXPECT_EQ(list.size(), 14 * 50U);
    EXPECT_EQ(dict.at(3), 14 * 5);
    EXPECT_TRUE(eventually([&] { return counter.get() == 14 * 50; }));
}

TEST_F(ManagedContainers, AsyncManagersReplyLater) {
    AsyncManager async;
    auto const list = async.list<int>();
    std::vector<Reply<void>> pushed;
    for (int i = 0; i < 100; ++i) pushed.push_back(list.push_back(i));
    Reply<std::size_t> const size = list.size();
    EXPECT_EQ(size.get(), 100U);
    EXPECT_EQ((async.dict<int, int>().get(1).get()), std::nullopt);
    EXPECT_EQ(async.value<int>(3).fetch_add(1).get(), 3);
    EXPECT_EQ(async.array<int>(3, 7).get(2).get(), 7);
    auto const space = async.space();
    space.set("x", 1);
    EXPECT_EQ(space.get<int>("x").get(), 1);
    EXPECT_EQ(async.counter().add().get(), 1);
}

TEST_F(ManagedContainers, AreFoundByTheirNames) {
    manager.list<int>({1}).publish("list");
    EXPECT_EQ(manager.lookup<managed::List<int>>("list").at(0), 1);
    EXPECT_EQ(manager.lookup<managed::AsyncList<int>>("list").at(0).get(), 1);
    EXPECT_THROW(manager.lookup<managed::List<double>>("list"), UsageError);
}

}  // namespace
}  // namespace sinew::testing_support
