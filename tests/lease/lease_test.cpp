// SPDX-License-Identifier: Apache-2.0
#include <sinew/lease.hpp>

#include <gmock/gmock.h>

#include <sinew/error.hpp>
#include <sinew/gpu_lease.hpp>
#include <sinew/remote_error.hpp>
#include <thread>

#include "src/base/system/allowed_cpus.hpp"
#include "tests/lease/support/host_with_gpus.hpp"
#include "tests/lease/support/lessee.hpp"
#include "tests/support/message_of.hpp"

namespace sinew::lease::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;
using testing_support::message_of;
using namespace std::chrono_literals;

using LeaseTest = HostWithGpus;

TEST_F(LeaseTest, SetsTheEnvironmentAndRestoresIt) {
    environment_.set("NV_GPU", "before");
    environment_.set("CUDA_VISIBLE_DEVICES", "1,2,3");
    {
        auto const lease = GpuLease::acquire(2, options_);
        EXPECT_THAT(indices(lease), ElementsAre(1, 2));
        EXPECT_EQ(lease.gpus()[0].uuid, "GPU-1-fake");
        EXPECT_EQ(variable("CUDA_VISIBLE_DEVICES"), "1,2");
        EXPECT_EQ(variable("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
        EXPECT_EQ(variable("NVIDIA_VISIBLE_DEVICES"), "GPU-1-fake,GPU-2-fake");
        EXPECT_EQ(variable("NV_GPU"), "GPU-1-fake,GPU-2-fake");
        EXPECT_THAT(lease.environment(), testing::Contains(Pair("CUDA_VISIBLE_DEVICES", "1,2")));
    }
    EXPECT_EQ(variable("CUDA_VISIBLE_DEVICES"), "1,2,3");
    EXPECT_EQ(variable("NV_GPU"), "before");
    EXPECT_EQ(variable("CUDA_DEVICE_ORDER"), std::nullopt);
}

TEST_F(LeaseTest, LeavesTheEnvironmentAloneIfItIsTold) {
    options_.set_environment = false;
    auto const lease = GpuLease::acquire(1, options_);
    EXPECT_EQ(variable("CUDA_VISIBLE_DEVICES"), std::nullopt);
    EXPECT_THAT(lease.environment(), testing::Contains(Pair("CUDA_VISIBLE_DEVICES", "0")));
}

TEST_F(LeaseTest, HasAllGpusForMinusOne) {
    auto const lease = GpuLease::acquire(-1, options_);
    EXPECT_THAT(indices(lease), ElementsAre(0, 1, 2, 3));
}

TEST_F(LeaseTest, RefusesAtOnceWhatCanNeverBe) {
    Lessee others(4, options_);
    ASSERT_TRUE(others.answer());
    EXPECT_THAT(message_of<UsageError>([&] { GpuLease::acquire(5, options_); }),
                AllOf(HasSubstr("5 GPUs"), HasSubstr("there are 4")));
    EXPECT_THAT(message_of<UsageError>([&] { GpuLease::acquire(0, options_); }),
                HasSubstr("nothing"));
    EXPECT_THAT(message_of<UsageError>([&] { GpuLease::acquire(-2, options_); }), HasSubstr("-2"));
    environment_.set("CUDA_VISIBLE_DEVICES", "2,3");
    EXPECT_THAT(message_of<UsageError>([&] { GpuLease::acquire(3, options_); }),
                AllOf(HasSubstr("3 GPUs"), HasSubstr("there are 2"), HasSubstr("of 4")));
    environment_.set("CUDA_VISIBLE_DEVICES", "");
    EXPECT_THROW(GpuLease::acquire(-1, options_), UsageError);
    environment_.set("FAKE_NVML", "fails 9");
    EXPECT_THROW(GpuLease::acquire(1, options_), Unavailable);
}

TEST_F(LeaseTest, MovesToAnotherObject) {
    auto first = GpuLease::acquire(1, options_);
    auto second = std::move(first);
    EXPECT_FALSE(first.held());  // NOLINT(bugprone-use-after-move)
    EXPECT_THAT(indices(second), ElementsAre(0));
    EXPECT_TRUE(is_locked(options_.folder, layout::holders));
    second.release();
    EXPECT_FALSE(is_locked(options_.folder, layout::holders));
}

TEST_F(LeaseTest, ChoosesGpusThatAreWellConnected) {
    environment_.set("FAKE_NVML", "gpus 4 links 0 2 1 links 1 3 4");
    EXPECT_THAT(indices(GpuLease::acquire(2, options_)), ElementsAre(1, 3));
}

TEST_F(LeaseTest, EndsItsWaitAtTheTimeout) {
    Lessee others(3, options_);
    ASSERT_TRUE(others.answer());
    options_.timeout = 20ms;
    EXPECT_THAT(message_of<Timeout>([&] { GpuLease::acquire(2, options_); }),
                AllOf(HasSubstr("2 GPUs"), HasSubstr("0.02 s"), HasSubstr("1 of 4 GPUs is free"),
                      HasSubstr("leases are held by "),
                      HasSubstr("(pid " + std::to_string(others.pid()) + ")")));
    Lessee first(2, LeaseOptions{.folder = options_.folder});
    ASSERT_TRUE(eventually([&] { return queue_length(options_.folder) == 1; }));
    EXPECT_THAT(message_of<Timeout>([&] { GpuLease::acquire(1, options_); }),
                HasSubstr("1 request is before this one"));
    options_.timeout = std::chrono::nanoseconds::max();
    others.end();
    first.end();
    EXPECT_TRUE(GpuLease::acquire(4, options_).held());
}

TEST_F(LeaseTest, EndsItsWaitWhenItIsStopped) {
    Lessee others(4, options_);
    ASSERT_TRUE(others.answer());
    std::stop_source source;
    options_.stop = source.get_token();
    std::jthread const stopper([&] {
        eventually([&] { return queue_length(options_.folder) == 1; });
        source.request_stop();
    });
    EXPECT_THROW(GpuLease::acquire(1, options_), Cancelled);
    EXPECT_EQ(queue_length(options_.folder), 0);
}

TEST_F(LeaseTest, MayBeTried) {
    Lessee others(3, options_);
    ASSERT_TRUE(others.answer());
    EXPECT_FALSE(GpuLease::try_acquire(2, options_));
    auto const lease = GpuLease::try_acquire(1, options_);
    ASSERT_TRUE(lease);
    EXPECT_THAT(indices(*lease), ElementsAre(3));
}

TEST_F(LeaseTest, IsOfTheFolderThatTheVariableNames) {
    environment_.set("SINEW_LEASE_DIR", options_.folder);
    auto const lease = GpuLease::acquire(1);
    EXPECT_TRUE(is_locked(options_.folder, layout::holders));
}

TEST_F(LeaseTest, OfProcessorsIsOfThoseThatThisProcessMayUse) {
    auto const allowed = allowed_cpus();
    auto lease = Lease::acquire({.cpus = 1}, options_);
    ASSERT_EQ(lease.cpus().size(), 1U);
    EXPECT_THAT(allowed, testing::Contains(lease.cpus()[0]));
    EXPECT_THAT(lease.environment(), IsEmpty());
    EXPECT_TRUE(is_locked(options_.folder, layout::cpu(lease.cpus()[0])));
    std::thread([&] {
        lease.bind_thread();
        EXPECT_EQ(allowed_cpus(), lease.cpus());
    }).join();
    lease.release();
    EXPECT_THAT(message_of<UsageError>([&] { Lease::acquire({.cpus = 100'000}, options_); }),
                HasSubstr("100000 processors"));
    EXPECT_THROW(Lease::acquire({.gpus = 1}, options_).bind_thread(), UsageError);
}

TEST_F(LeaseTest, OfProcessorsDoNotOverlap) {
    auto const allowed = allowed_cpus();
    if (allowed.size() < 2) GTEST_SKIP() << "one processor";
    Lessee one({.cpus = 1}, options_);
    ASSERT_THAT(one.answer(), Optional(std::string("none")));
    auto lease = Lease::try_acquire({.cpus = 1}, options_);
    ASSERT_TRUE(lease);
    EXPECT_FALSE(is_locked(options_.folder, layout::cpu(100'000)));
    EXPECT_TRUE(is_locked(options_.folder, layout::cpu(lease->cpus()[0])));
    lease.reset();
    EXPECT_FALSE(Lease::try_acquire({.cpus = LeaseRequest::all}, options_));
}

TEST_F(LeaseTest, OfMemoryIsAnAccount) {
    options_.memory_of_host = 100;
    Lessee first({.memory_bytes = 30}, options_), second({.memory_bytes = 30}, options_);
    ASSERT_TRUE(first.answer() && second.answer());
    EXPECT_FALSE(Lease::try_acquire({.memory_bytes = 41}, options_));
    EXPECT_TRUE(Lease::try_acquire({.memory_bytes = 40}, options_).has_value());
    first.end();  // two parts are free now
    EXPECT_FALSE(Lease::try_acquire({.memory_bytes = 71}, options_));
    auto lease = Lease::try_acquire({.memory_bytes = 65}, options_);
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->memory_bytes(), 65U);
    lease.reset();
    second.end();
    EXPECT_THAT(message_of<UsageError>([&] { Lease::acquire({.memory_bytes = 101}, options_); }),
                AllOf(HasSubstr("101 bytes"), HasSubstr("there are 100")));
    auto const all = Lease::acquire({.memory_bytes = LeaseRequest::all_memory}, options_);
    EXPECT_EQ(all.memory_bytes(), 100U);
}

TEST_F(LeaseTest, OfSeveralKindsIsGivenAsAWhole) {
    options_.memory_of_host = 100;
    Lessee memory({.memory_bytes = 100}, options_);
    ASSERT_TRUE(memory.answer());
    Lessee waiting({.gpus = 2, .memory_bytes = 50}, options_);
    ASSERT_TRUE(eventually([&] { return queue_length(options_.folder) == 1; }));
    EXPECT_TRUE(waiting.waits());
    memory.kill();
    EXPECT_THAT(waiting.answer(), Optional(HasSubstr("0,1")));
}

}  // namespace
}  // namespace sinew::lease::test
