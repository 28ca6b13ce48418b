// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <sinew/manager.hpp>
#include <sinew/process.hpp>
#include <thread>
#include <vector>

#include "tests/manager/support/counter.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

struct ManagerOrder : testing::Test {
    LeakCheck leaks;
};

#if defined(SINEW_TEST_TSAN) || defined(SINEW_TEST_ASAN)
constexpr int calls_each = 12'500;
#else
constexpr int calls_each = 125'000;
#endif

TEST_F(ManagerOrder, AMillionCallsOfEightThreadsKeepTheirOrder) {
    Manager manager;
    auto counter = manager.create<Counter>();
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 8; ++thread)
        threads.emplace_back([thread, counter] {
            std::vector<Reply<int>> replies;
            int last = 0;
            for (int i = 0; i < calls_each; ++i) {
                counter.oneway<&Counter::note>(thread, i);
                replies.push_back(counter.async<&Counter::add>(1));
                if (replies.size() < 1000) continue;
                for (auto const& each : replies) {
                    EXPECT_GT(each.get(), last);
                    last = each.get();
                }
                replies.clear();
            }
        });
    for (auto& each : threads) each.join();
    EXPECT_EQ(counter.call<&Counter::value>(), 8 * calls_each);
    std::map<int, int> next;
    for (auto const& [thread, number] : counter.call<&Counter::notes>())
        ASSERT_EQ(number, next[thread]++) << "of thread " << thread;
    for (int thread = 0; thread < 8; ++thread) EXPECT_EQ(next[thread], calls_each);
}

TEST_F(ManagerOrder, ManyCallsTakeNoMemory) {
    Manager manager;
    auto counter = manager.create<Counter>();
    auto const many = [&] {
        for (int i = 0; i < calls_each; ++i) static_cast<void>(counter.async<&Counter::add>(1));
        counter.call<&Counter::value>();
    };
    many();
    auto const ours = resident_size(::getpid()), its = resident_size(manager.pid());
    many();
    many();
    constexpr std::size_t room = std::size_t{32} << 20;
    EXPECT_LT(resident_size(::getpid()), ours + room);
    EXPECT_LT(resident_size(manager.pid()), its + room);
}

int write_notes(Object<Counter> const& counter, int client) {
    for (int i = 0; i < 2000; ++i) counter.oneway<&Counter::note>(client, i);
    return 0;
}

TEST_F(ManagerOrder, EachProcessHasItsOwn) {
    Manager manager;
    auto counter = manager.create<Counter>();
    std::vector<Process> processes;
    for (int i = 0; i < 3; ++i) processes.emplace_back(task<write_notes>, counter, i);
    for (auto& each : processes) each.start();
    for (auto& each : processes) each.join();
    std::map<int, int> next;
    for (auto const& [client, number] : counter.call<&Counter::notes>())
        ASSERT_EQ(number, next[client]++) << "of process " << client;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(next[i], 2000) << "sent before the end is executed";
}

}  // namespace
}  // namespace sinew::testing_support
