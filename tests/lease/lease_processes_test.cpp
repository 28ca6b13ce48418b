// SPDX-License-Identifier: Apache-2.0
// A lease and its process, its children, and containers.
#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>

#include <sinew/error.hpp>
#include <sinew/gpu_lease.hpp>

#include "tests/lease/support/host_with_gpus.hpp"
#include "tests/lease/support/lessee.hpp"
#include "tests/support/message_of.hpp"

namespace sinew::lease::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;
using testing_support::message_of;

using LeaseProcesses = HostWithGpus;

TEST_F(LeaseProcesses, IsOneForAProcess) {
    auto lease = GpuLease::acquire(1, options_);
    EXPECT_THAT(message_of<UsageError>([&] { GpuLease::acquire(1, options_); }),
                HasSubstr("already"));
    EXPECT_THROW(GpuLease::try_acquire(1, options_), UsageError);
    lease.release();
    EXPECT_FALSE(lease.held());
    EXPECT_THROW((void)lease.gpus(), UsageError);
    EXPECT_TRUE(GpuLease::acquire(1, options_).held()) << "also after one that was refused";
}

TEST_F(LeaseProcesses, IsRefusedToAProcessThatWasGivenGpusOfALease) {
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

TEST_F(LeaseProcesses, IsNotInheritedByAForkedChild) {
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

TEST_F(LeaseProcesses, EndsWithItsProcessAlsoIfForkedAndStartedChildrenGoOn) {
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

TEST_F(LeaseProcesses, MayBeHandedOverToAChildThatIsStarted) {
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

TEST_F(LeaseProcesses, IsOfDifferentGpusInContainersThatNumberThemDifferently) {
    Lessee host(2, options_);  // GPU-0-fake and GPU-1-fake
    ASSERT_THAT(host.answer(), Optional(HasSubstr("0,1")));
    environment_.set("FAKE_NVML", "gpus 4 denied 0");
    auto const lease = GpuLease::acquire(2, options_);
    EXPECT_THAT(indices(lease), ElementsAre(1, 2)) << "0 is GPU-1-fake here";
    EXPECT_EQ(lease.environment().at("NV_GPU"), "GPU-2-fake,GPU-3-fake");
}

TEST_F(LeaseProcesses, IsNotGivenByNumberWhereOthersGoByUuid) {
    Lessee others(1, options_);
    ASSERT_TRUE(others.answer());
    environment_.set("FAKE_NVML", "fails 9");
    environment_.set("SINEW_GPUS", "4");
    EXPECT_THAT(message_of<Unavailable>([&] { GpuLease::acquire(1, options_); }),
                HasSubstr("leased by UUID"));
    others.end();
    EXPECT_TRUE(GpuLease::acquire(1, options_).held());
}

TEST_F(LeaseProcesses, IsRefusedIfCudaNoLongerReadsTheEnvironment) {
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
TEST_F(LeaseProcesses, IsSharedByProcessesOfOtherPidNamespaces) {
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

}  // namespace
}  // namespace sinew::lease::test
