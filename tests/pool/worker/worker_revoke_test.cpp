// SPDX-License-Identifier: Apache-2.0
// Each task is either executed or given back. Most effective with two processors.
#include <gmock/gmock.h>

#include <atomic>
#include <random>
#include <sinew/this_task.hpp>
#include <thread>

#include "src/pool/worker/progress_report.hpp"
#include "tests/pool/worker/worker_harness.hpp"

namespace sinew::pool::test {
namespace {

constexpr std::uint32_t count = 2000;

// One thread begins tasks, another gives them back at a random time; both must agree on the border.
void race(bool fenced, int rounds) {
    std::mt19937 random(7);
    std::mutex guard;
    std::atomic<Progress*> current{nullptr};
    std::atomic<std::uint32_t> executed{0};
    std::atomic<bool> over{false};
    std::thread executing([&] {
        while (!over) {
            auto* const progress = current.load(std::memory_order_acquire);
            if (progress == nullptr) {
                std::this_thread::yield();
                continue;
            }
            std::uint32_t offset = 0;
            while (offset < count && progress->begin(offset)) ++offset;
            executed.store(offset);
            current.store(nullptr, std::memory_order_release);
        }
    });
    for (int round = 0; round < rounds; ++round) {
        Progress progress(count, guard);
        if (fenced) progress.fence();
        current.store(&progress, std::memory_order_release);
        for (auto spin = random() % 4000; spin > 0; --spin)
            std::atomic_signal_fence(std::memory_order_seq_cst);
        std::uint32_t kept = 0;
        {
            std::lock_guard const lock(guard);
            kept = progress.revoke();
            ASSERT_LE(progress.revoke(), kept);  // a second request gives no more than the first
            kept = progress.revoke();
        }
        while (current.load(std::memory_order_acquire) != nullptr) std::this_thread::yield();
        ASSERT_EQ(executed.load(), kept) << "round " << round;
    }
    over = true;
    executing.join();
}

TEST(WorkerProgress, AgreesOnWhatIsKept) { race(false, 20000); }
TEST(WorkerProgress, AgreesWithoutMembarrier) { race(true, 20000); }

TEST(WorkerProgress, KeepsExactlyTheTaskThatRuns) {
    std::mutex guard;
    Progress progress(10, guard);
    for (std::uint32_t offset = 0; offset < 4; ++offset) ASSERT_TRUE(progress.begin(offset));
    {
        std::lock_guard const lock(guard);
        EXPECT_EQ(progress.revoke(), 4u);
    }
    EXPECT_FALSE(progress.begin(4));
}

TEST(WorkerProgress, KeepsNothingOfWhatHasNotBegun) {
    std::mutex guard;
    Progress progress(10, guard);
    std::lock_guard const lock(guard);
    EXPECT_EQ(progress.revoke(), 0u);
}

std::uint64_t busy(std::uint64_t spins) {
    for (; spins > 0; --spins) std::atomic_signal_fence(std::memory_order_seq_cst);
    return this_task::index();
}

// The same with a real worker, in any of whose threads the request is read.
TEST(WorkerRevoke, GivesBackExactlyWhatIsNotExecuted) {
    Master master;
    ASSERT_TRUE(master.wait_ready());
    master.job<&busy, std::uint64_t>(1);
    std::mt19937 random(11);
    for (std::uint64_t b = 1; b <= 1500; ++b) {
        std::uint32_t const tasks = 1 + random() % 400;
        std::uint64_t const spins = random() % 3 == 0 ? 5000 : random() % 100;
        Writer writer;
        for (std::uint32_t i = 0; i < tasks; ++i) add_arguments<&busy>(writer, spins);
        master.batch({1, b, 1000 * b, tasks, 1, 0}, writer);
        for (auto spin = random() % 100000; spin > 0; --spin)
            std::atomic_signal_fence(std::memory_order_seq_cst);
        master.send(Kind::revoke, BatchHead{b});
        ASSERT_TRUE(master.wait([&] { return master.settled(b, tasks); }));
        auto const& heard = master.heard[b];
        auto const values = results<std::uint64_t>(heard);
        ASSERT_EQ(values.size(), heard.done);
        for (std::uint32_t i = 0; i < heard.done; ++i) ASSERT_EQ(values[i], 1000 * b + i);
    }
    // Tasks that were given back are not executed later.
    master.batch({1, 5000, 0, 1, 1, 0}, [] {
        Writer writer;
        add_arguments<&busy>(writer, std::uint64_t{0});
        return writer;
    }());
    ASSERT_TRUE(master.wait([&] { return master.settled(5000, 1); }));
    for (auto const& [batch, heard] : master.heard) {
        if (heard.kept) {
            ASSERT_EQ(heard.done, *heard.kept) << batch;
        }
    }
}

void revoked_nap(std::uint64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

TEST(WorkerRevoke, IsAnsweredWhileALongTaskRuns) {
    Master master;
    master.job<&revoked_nap, std::uint64_t>(1);
    Writer writer;
    add_arguments<&revoked_nap>(writer, std::uint64_t{60000});
    add_arguments<&revoked_nap>(writer, std::uint64_t{0});
    master.batch({1, 10, 0, 2, 1, 0}, writer);
    Writer queued;
    add_arguments<&revoked_nap>(queued, std::uint64_t{0});
    master.batch({1, 11, 2, 1, 1, 0}, queued);
    ASSERT_TRUE(master.wait([&] { return master.page->running.load() == running_word(10, 0); }));
    master.send(Kind::revoke, BatchHead{10});
    master.send(Kind::revoke, BatchHead{11});
    ASSERT_TRUE(master.wait([&] { return master.heard[10].kept && master.heard[11].kept; }));
    EXPECT_EQ(master.heard[10].kept, 1u);
    EXPECT_EQ(master.heard[11].kept, 0u);
}

}  // namespace
}  // namespace sinew::pool::test
