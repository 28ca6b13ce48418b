// SPDX-License-Identifier: Apache-2.0
// A worker on a host whose lease has expired executes nothing, whatever its supervisor does.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/pool/worker/worker_harness.hpp"

namespace sinew::pool::test {
namespace {

using namespace std::chrono_literals;

int leased_nap(int ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    return ms;
}

std::int64_t from_now(std::chrono::nanoseconds time) {
    return process::lease_clock_ns() + time.count();
}

void send_naps(Master& master, int ms, std::uint32_t count) {
    Writer arguments;
    for (std::uint32_t i = 0; i < count; ++i) add_arguments<leased_nap>(arguments, ms);
    master.job<leased_nap, int>(1);
    master.batch({.job = 1, .batch = 7, .first = 0, .count = count, .attempt = 1, .transfer = 0},
                 arguments);
}

void expect_end_by_lease(Master& master) {
    int const status = master.wait_end();
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    EXPECT_EQ(static_cast<Verdict>(master.page->verdict.load()), Verdict::lease_over);
}

TEST(Lease, EndsAWorkerInTheMidstOfATask) {
    Master master;
    ASSERT_TRUE(master.wait_ready());
    master.page->lease_until = from_now(500ms);
    auto const begin = std::chrono::steady_clock::now();
    send_naps(master, 40000, 1);
    expect_end_by_lease(master);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

TEST(Lease, LetsNoTaskBeginAfterItsEnd) {
    Master master;
    ASSERT_TRUE(master.wait_ready());
    master.page->lease_until = from_now(-1ms);
    send_naps(master, 0, 1);
    expect_end_by_lease(master);
    EXPECT_EQ(master.heard[7].done, 0U);
    EXPECT_EQ(master.page->running.load(), nothing_running);
}

TEST(Lease, IsRenewed) {
    Master master;
    ASSERT_TRUE(master.wait_ready());
    master.page->lease_until = from_now(3s);
    auto const renewing =
        master.loop.every(100ms, [&] { master.page->lease_until = from_now(3s); });
    send_naps(master, 400, 10);
    EXPECT_TRUE(master.wait([&] { return master.settled(7, 10) || master.gone(); }));
    EXPECT_EQ(master.heard[7].done, 10U);
}

}  // namespace
}  // namespace sinew::pool::test
