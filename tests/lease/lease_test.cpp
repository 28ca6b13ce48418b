// SPDX-License-Identifier: Apache-2.0
#include <sinew/lease.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>

#include <fstream>
#include <sinew/error.hpp>
#include <sinew/gpu_lease.hpp>
#include <sinew/remote_error.hpp>

#include "src/base/system/allowed_cpus.hpp"
#include "tests/lease/support/lessee.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/temp_folder.hpp"

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

std::vector<int> indices(Lease const& lease) {
    std::vector<int> found;
    for (auto const& gpu : lease.gpus()) found.push_back(gpu.index);
    return found;
}

/// A host with four GPUs that NVML knows.
class LeaseTest : public testing::Test {
protected:
    Environment environment_{{"FAKE_NVML", "gpus 4"}};
    testing_support::TempFolder temporary_;
    LeaseOptions options_{.folder = temporary_.path() / "leases"};
};

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

TEST_F(LeaseTest, IsOneForAProcess) {
    auto lease = GpuLease::acquire(1, options_);
    EXPECT_THAT(message_of<UsageError>([&] { GpuLease::acquire(1, options_); }),
                HasSubstr("already"));
    EXPECT_THROW(GpuLease::try_acquire(1, options_), UsageError);
    lease.release();
    EXPECT_FALSE(lease.held());
    EXPECT_THROW((void)lease.gpus(), UsageError);
    EXPECT_TRUE(GpuLease::acquire(1, options_).held()) << "also after one that was refused";
}

TEST_F(LeaseTest, IsRefusedToAProcessThatWasGivenGpusOfALease) {
    auto lease = GpuLease::acquire(2, options_);
    Lessee child(1, options_);
    EXPECT_THAT(child.answer(), Optional(HasSubstr("CUDA_VISIBLE_DEVICES=0,1")));
    Lessee other({.cpus = 1}, options_);
    EXPECT_THAT(other.answer(), Optional(std::string("0,1"))) << "only GPUs are refused";
    environment_.set("CUDA_VISIBLE_DEVICES", "1");  // as a worker of a pool has it
    EXPECT_THAT(Lessee(1, options_).answer(), Optional(HasSubstr("were leased for it")));
    environment_.set("CUDA_VISIBLE_DEVICES", "3");
    EXPECT_THAT(Lessee(1, options_).answer(), Optional(HasSubstr("3 but NVIDIA")));
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

TEST_F(LeaseTest, IsNotInheritedByAForkedChild) {
    options_.set_environment = false;
    auto lease = GpuLease::acquire(4, options_);
    auto ready = PipeEnds::make();
    auto child = fork_child([&] {
        bool const free_of_it = !lease.held() && !Lease::try_acquire({.gpus = 1}, options_);
        if (::write(ready.write.get(), "r", 1) != 1 || !free_of_it) return 1;
        auto const own = GpuLease::acquire(4, options_);
        return own.held() ? 0 : 1;
    });
    char letter = 0;
    ASSERT_EQ(::read(ready.read.get(), &letter, 1), 1);
    ASSERT_TRUE(eventually([&] { return queue_length(options_.folder) == 1; }));
    EXPECT_TRUE(lease.held());
    lease.release();
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(LeaseTest, EndsWithItsProcessAlsoIfForkedAndStartedChildrenGoOn) {
    auto pids = PipeEnds::make();
    auto holder = fork_child([&] {
        auto const lease = GpuLease::acquire(4, options_);
        pid_t const forked = ::fork();
        if (forked == 0) {
            ::prctl(PR_SET_PDEATHSIG, 0);
            for (;;) ::pause();
        }
        pid_t const started = ::fork();
        if (started == 0) {
            ::execlp("sleep", "sleep", "60", nullptr);
            ::_exit(1);
        }
        pid_t const both[]{forked, started};
        if (::write(pids.write.get(), both, sizeof both) < 0) return 1;
        for (;;) ::pause();
    });
    pid_t both[2];
    ASSERT_EQ(::read(pids.read.get(), both, sizeof both), static_cast<ssize_t>(sizeof both));
    EXPECT_FALSE(GpuLease::try_acquire(1, options_));
    holder.kill(SIGKILL);
    holder.wait();
    // A child has copies of the descriptors until it first runs.
    EXPECT_TRUE(eventually([&] { return GpuLease::try_acquire(4, options_).has_value(); }));
    for (pid_t const pid : both) ::kill(pid, SIGKILL);
}

TEST_F(LeaseTest, MayBeHandedOverToAChildThatIsStarted) {
    auto lease = GpuLease::acquire(3, options_);
    int const file = lease.hand_over();
    EXPECT_FALSE(lease.held());
    EXPECT_EQ(variable("CUDA_VISIBLE_DEVICES"), std::nullopt);
    EXPECT_EQ(::fcntl(file, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    EXPECT_THROW((void)lease.hand_over(), UsageError);
    auto child = fork_child([&] {
        ::fcntl(file, F_SETFD, 0);
        ::execlp("sleep", "sleep", "60", nullptr);
        return 1;
    });
    ::close(file);
    EXPECT_THAT(indices(*GpuLease::try_acquire(1, options_)), ElementsAre(3));
    EXPECT_FALSE(GpuLease::try_acquire(2, options_)) << "the child has the other three";
    child.kill(SIGKILL);
    child.wait();
    EXPECT_TRUE(GpuLease::try_acquire(4, options_).has_value());
}

TEST_F(LeaseTest, IsOfDifferentGpusInContainersThatNumberThemDifferently) {
    Lessee host(2, options_);  // GPU-0-fake and GPU-1-fake
    ASSERT_THAT(host.answer(), Optional(HasSubstr("0,1")));
    environment_.set("FAKE_NVML", "gpus 4 denied 0");
    auto const lease = GpuLease::acquire(2, options_);
    EXPECT_THAT(indices(lease), ElementsAre(1, 2)) << "0 is GPU-1-fake here";
    EXPECT_EQ(lease.environment().at("NV_GPU"), "GPU-2-fake,GPU-3-fake");
}

TEST_F(LeaseTest, IsNotGivenByNumberWhereOthersGoByUuid) {
    Lessee others(1, options_);
    ASSERT_TRUE(others.answer());
    environment_.set("FAKE_NVML", "fails 9");
    environment_.set("SINEW_GPUS", "4");
    EXPECT_THAT(message_of<Unavailable>([&] { GpuLease::acquire(1, options_); }),
                HasSubstr("leased by UUID"));
    others.end();
    EXPECT_TRUE(GpuLease::acquire(1, options_).held());
}

TEST_F(LeaseTest, IsRefusedIfCudaNoLongerReadsTheEnvironment) {
    auto child = fork_child([&] {  // the driver of a process stays loaded
        if (::dlopen(FAKE_CUDA_LIBRARY, RTLD_NOW) == nullptr) return 1;
        auto const words = message_of<UsageError>([&] { GpuLease::acquire(1, options_); });
        if (words.find("CUDA has been initialised") == words.npos) return 2;
        options_.set_environment = false;
        return GpuLease::acquire(1, options_).held() ? 0 : 3;
    });
    EXPECT_EQ(child.wait(), 0);
}

// As two containers have them, whose processes may even have the same number.
TEST_F(LeaseTest, IsSharedByProcessesOfOtherPidNamespaces) {
    constexpr int no_right = 77;
    auto ready = PipeEnds::make();
    auto container = fork_child([&] {
        if (::unshare(CLONE_NEWPID) != 0) return no_right;
        auto first = fork_child([&] {
            auto const lease = GpuLease::acquire(3, options_);
            if (::getpid() != 1 || ::write(ready.write.get(), "r", 1) != 1) return 1;
            for (;;) ::pause();
        });
        int const status = first.wait();
        return WIFSIGNALED(status) ? 0 : WEXITSTATUS(status);
    });
    ::pollfd about{ready.read.get(), POLLIN, 0};
    if (::poll(&about, 1, 2000) != 1) {
        if (container.wait() >> 8 == no_right) GTEST_SKIP() << "no right to unshare";
        FAIL();
    }
    EXPECT_FALSE(GpuLease::try_acquire(2, options_));
    EXPECT_EQ(indices(*GpuLease::try_acquire(1, options_)), std::vector{3});
    Lessee waiting(4, options_);
    ASSERT_TRUE(eventually([&] { return queue_length(options_.folder) == 1; }));
    container.kill(SIGKILL);  // and with it the process inside
    EXPECT_THAT(waiting.answer(), Optional(HasSubstr("0,1,2,3")));
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
