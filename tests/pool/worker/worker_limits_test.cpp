// SPDX-License-Identifier: Apache-2.0
// What ends a task or its worker: stop tokens, limits, a silent master, signals, forks.
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sinew/this_task.hpp>
#include <thread>
#include <vector>

#include "tests/pool/worker/worker_harness.hpp"

namespace sinew::pool::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

bool until_asked() {
    auto const token = this_task::stop_token();
    auto const limit = std::chrono::steady_clock::now() + 40s;
    while (!token.stop_requested() && std::chrono::steady_clock::now() < limit)
        std::this_thread::sleep_for(1ms);
    return token.stop_requested();
}
void limited_nap(std::uint64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
void leave(std::uint64_t) { std::exit(0); }
std::uint64_t eat(std::uint64_t bytes) {
    static std::vector<char> eaten;
    eaten.assign(bytes, 'x');
    return eaten.size();
}
std::uint64_t fork_and_return(std::uint64_t x) {
    if (x == 1) static_cast<void>(::fork());
    return 10 * x + this_task::index();
}

template <auto F>
Writer one(std::uint64_t argument) {
    Writer writer;
    add_arguments<F>(writer, argument);
    return writer;
}

Verdict verdict(Master const& master) { return static_cast<Verdict>(master.page->verdict.load()); }

TEST(WorkerLimits, AsksATaskToStopOnRequest) {
    Master master;
    master.job<&until_asked>(1);
    master.batch({1, 10, 0, 2, 1, 0}, Writer());
    for (std::uint32_t offset = 0; offset < 2; ++offset) {
        ASSERT_TRUE(
            master.wait([&] { return master.page->running.load() == running_word(10, offset); }));
        master.send(Kind::stop_task, BatchHead{9});  // of another batch: no effect
        master.send(Kind::stop_task, BatchHead{10});
        ASSERT_TRUE(master.wait([&] { return master.heard[10].done > offset; }));
    }
    EXPECT_THAT(results<bool>(master.heard[10]), ElementsAre(true, true));
}

TEST(WorkerLimits, AsksATaskToStopAtItsSoftLimit) {
    Master master;
    master.job<&until_asked>(1, 20'000'000);
    master.batch({1, 10, 0, 2, 1, 0}, Writer());
    ASSERT_TRUE(master.wait([&] { return master.settled(10, 2); }));
    EXPECT_THAT(results<bool>(master.heard[10]), ElementsAre(true, true));
}

TEST(WorkerLimits, EndsAtTheHardLimitAndSaysWhichTask) {
    Master master;
    master.job<&limited_nap, std::uint64_t>(1, 0, 50'000'000);
    Writer writer;
    add_arguments<&limited_nap>(writer, std::uint64_t{1});
    add_arguments<&limited_nap>(writer, std::uint64_t{60000});
    master.batch({1, 10, 0, 2, 1, 0}, writer);
    auto const status = master.wait_end();
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    EXPECT_EQ(verdict(master), Verdict::hard_limit);
    EXPECT_EQ(master.page->running.load(), running_word(10, 1));
}

TEST(WorkerLimits, DoNotConcernOtherTasks) {
    Master master;
    master.job<&limited_nap, std::uint64_t>(1, 0, 100'000'000);
    master.job<&limited_nap, std::uint64_t>(2);
    for (std::uint64_t b = 1; b <= 10; ++b) {
        master.batch({1, 2 * b, 0, 1, 1, 0}, one<&limited_nap>(1));
        master.batch({2, 2 * b + 1, 0, 1, 1, 0}, one<&limited_nap>(b == 5 ? 300 : 10));
    }
    ASSERT_TRUE(master.wait([&] { return master.settled(21, 1) || master.gone(); }));
    EXPECT_FALSE(master.gone());
}

TEST(WorkerLimits, LeaveTheRunningTaskBehindWhenKilled) {
    Master master;
    master.job<&limited_nap, std::uint64_t>(1);
    master.batch({1, 77, 0, 1, 1, 0}, one<&limited_nap>(60000));
    ASSERT_TRUE(master.wait([&] { return master.page->running.load() != nothing_running; }));
    master.process->kill(SIGKILL);
    EXPECT_EQ(WTERMSIG(master.wait_end()), SIGKILL);
    EXPECT_EQ(master.page->running.load(), running_word(77, 0));
    EXPECT_EQ(verdict(master), Verdict::none);
    EXPECT_EQ(master.control_end->cause, wire::LinkEnd::Cause::lost);
}

TEST(WorkerLimits, LeaveTheTaskBehindThatExits) {
    Master master;
    master.job<&leave, std::uint64_t>(1);
    master.batch({1, 77, 0, 1, 1, 0}, one<&leave>(0));
    EXPECT_TRUE(WIFEXITED(master.wait_end()));
    EXPECT_EQ(master.page->running.load(), running_word(77, 0));
}

// The master is silent as long as its loop does not run.
TEST(WorkerLimits, EndsWhenTheLeaseIsOver) {
    auto start = usual_start();
    start.lease_ms = 400;
    for (bool const busy : {false, true}) {
        Master master(start);
        ASSERT_TRUE(master.wait_ready());
        master.job<&limited_nap, std::uint64_t>(1);
        if (busy) master.batch({1, 10, 0, 1, 1, 0}, one<&limited_nap>(60000));
        EXPECT_EQ(WTERMSIG(master.process->wait()), SIGKILL);
        EXPECT_EQ(verdict(master), Verdict::lease_over) << busy;
    }
}

TEST(WorkerLimits, KeepTheLeaseAndTheLinkDuringLongTasks) {
    auto start = usual_start();
    start.lease_ms = 1000;
    Master master(start);
    ASSERT_TRUE(master.wait_ready());
    master.job<&limited_nap, std::uint64_t>(1);
    master.batch({1, 10, 0, 1, 1, 0}, one<&limited_nap>(3000));
    int alive = 0;
    auto const silent = [&] { return ++alive, master.heard[10].done == 1; };
    ASSERT_TRUE(master.wait(silent));
    EXPECT_FALSE(master.gone());
}

TEST(WorkerLimits, AsksToBeReplacedBeyondItsMemory) {
    auto start = usual_start();
    start.max_rss_bytes = std::uint64_t{400} << 20;
    Master master(start);
    master.job<&eat, std::uint64_t>(1);
    master.batch({1, 10, 0, 1, 1, 0}, one<&eat>(std::uint64_t{450} << 20));
    ASSERT_TRUE(master.wait([&] { return master.recycled == 1 || master.gone(); }));
    EXPECT_FALSE(master.gone());
    master.batch({1, 11, 0, 1, 1, 0}, one<&eat>(std::uint64_t{900} << 20));
    EXPECT_EQ(WTERMSIG(master.wait_end()), SIGKILL);
    EXPECT_EQ(verdict(master), Verdict::memory_limit);
    EXPECT_EQ(master.recycled, 1);
}

TEST(WorkerLimits, EndTheForkedChildThatComesBackFromATask) {
    testing::internal::CaptureStderr();
    Master master;
    master.job<&fork_and_return, std::uint64_t>(1);
    Writer writer;
    for (std::uint64_t i = 0; i < 5; ++i) add_arguments<&fork_and_return>(writer, i);
    master.batch({1, 10, 0, 5, 1, 0}, writer);
    ASSERT_TRUE(master.wait([&] { return master.settled(10, 5); }));
    master.batch({1, 11, 0, 2, 1, 0}, writer);  // the last task forks
    ASSERT_TRUE(master.wait([&] { return master.settled(11, 2); }));
    EXPECT_THAT(results<std::uint64_t>(master.heard[10]), ElementsAre(0, 11, 22, 33, 44));
    master.send(Kind::release);
    EXPECT_EQ(WEXITSTATUS(master.wait_end()), 0);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("a task has forked"));
}

}  // namespace
}  // namespace sinew::pool::test
