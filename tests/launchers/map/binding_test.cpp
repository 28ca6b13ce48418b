// SPDX-License-Identifier: Apache-2.0
#include "launchers/map/binding.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include <sinew/error.hpp>

#include "src/base/system/allowed_cpus.hpp"
#include "src/base/system/cgroup.hpp"
#include "src/base/text.hpp"
#include "tests/support/refusal.hpp"

namespace sinew::launch {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

using Lists = std::vector<std::string>;

class Binding : public testing::Test {
protected:
    void SetUp() override {
#if !SINEW_HAVE_HWLOC
        GTEST_SKIP() << "needs hwloc";
#endif
    }
    Processors const two_by_four() { return synthetic_processors("package:2 core:4 pu:2"); }
};

TEST_F(Binding, CoreGivesEachRankAllHardwareThreadsOfItsOwn) {
    EXPECT_THAT(bindings(BindTo::core, 3, two_by_four()), ElementsAre("0-1", "2-3", "4-5"));
}

TEST_F(Binding, CoreFollowsTheOperatingSystemsNumbers) {
    // Numbered as on most machines: second hardware threads after all first ones.
    auto const machine = synthetic_processors("package:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)");
    EXPECT_THAT(bindings(BindTo::core, 4, machine), ElementsAre("0,4", "1,5", "2,6", "3,7"));
    EXPECT_THAT(bindings(BindTo::socket, 2, machine), ElementsAre("0-1,4-5", "2-3,6-7"));
}

TEST_F(Binding, CoreRefusesMoreRanksThanCoresWithNumbersAndRemedy) {
    EXPECT_THAT(testing_support::refusal([&] { bindings(BindTo::core, 9, two_by_four()); }),
                AllOf(HasSubstr("9 ranks on 8 cores"), HasSubstr("--bind-to socket or none")));
}

TEST_F(Binding, SocketPutsNeighboursOnOnePackage) {
    EXPECT_THAT(bindings(BindTo::socket, 4, two_by_four()),
                ElementsAre("0-7", "0-7", "8-15", "8-15"));
    EXPECT_THAT(bindings(BindTo::socket, 3, two_by_four()), ElementsAre("0-7", "0-7", "8-15"));
    EXPECT_THAT(bindings(BindTo::socket, 1, two_by_four()), ElementsAre("0-7"));
}

TEST_F(Binding, SocketBlocksAreInProportionToTheUsableCores) {
    auto machine = two_by_four();
    machine.cores.erase(machine.cores.begin() + 5, machine.cores.end());  // 4 and 1 are left
    EXPECT_THAT(bindings(BindTo::socket, 5, machine),
                ElementsAre("0-7", "0-7", "0-7", "0-7", "8-9"));
    EXPECT_EQ(bindings(BindTo::socket, 20, machine).size(), 20U) << "more ranks than cores is fine";
}

TEST_F(Binding, AutomaticBindsToPackagesOnlyWhereThatTakesNothingAway) {
    EXPECT_EQ(bindings(BindTo::automatic, 4, two_by_four()),
              bindings(BindTo::socket, 4, two_by_four()));
    EXPECT_EQ(bindings(BindTo::automatic, 1, two_by_four()), Lists(1)) << "may use both packages";
    EXPECT_EQ(bindings(BindTo::automatic, 9, two_by_four()), Lists(9)) << "oversubscribed";
    EXPECT_EQ(bindings(BindTo::automatic, 2, synthetic_processors("package:1 core:4 pu:1")),
              Lists(2));
    auto shared = two_by_four();
    shared.quota = 6.5;
    EXPECT_EQ(bindings(BindTo::automatic, 4, shared), Lists(4)) << "others use these cores too";
}

TEST_F(Binding, NoneBindsNobody) {
    EXPECT_EQ(bindings(BindTo::none, 3, two_by_four()), Lists(3));
    EXPECT_EQ(bindings(BindTo::none, 0, two_by_four()), Lists());
}

TEST_F(Binding, CoresOfOneNumaNodeStandTogether) {
    auto const machine = synthetic_processors("package:2 [numa] core:2 pu:1");
    std::vector<int> nodes;
    for (auto const& core : machine.cores) nodes.push_back(core.numa);
    EXPECT_THAT(nodes, ElementsAre(0, 0, 1, 1));
}

TEST_F(Binding, IsShownWithItsCoresAndAPicture) {
    auto const machine = two_by_four();
    EXPECT_EQ(show_binding(3, "node-b", "12-15", machine),
              "rank 3 on node-b: cores 6-7 of package 1 [..../..##]");
    EXPECT_EQ(show_binding(0, "node-b", "0", machine),
              "rank 0 on node-b: core 0 of package 0 [+.../....]");
    EXPECT_EQ(show_binding(1, "a", "6-9", machine),
              "rank 1 on a: cores 3-4 of packages 0-1 [...#/#...]");
    EXPECT_EQ(show_binding(1, "a", "", machine), "rank 1 on a: not bound");
}

TEST(BindingWithoutTopology, RefusesToGuessCores) {
    Processors const machine{.cores = {{0, 0, 0, {0}}, {1, 0, 0, {1}}}, .quota = {}};
    EXPECT_THROW(bindings(BindTo::core, 1, machine), Unavailable);
    EXPECT_EQ(bindings(BindTo::automatic, 2, machine), Lists(2));
}

TEST(Slots, AreCoresButNoMoreThanTheQuotaRoundedUp) {
    Processors machine;
    machine.cores.resize(8);
    EXPECT_EQ(machine.slots(), 8);
    machine.quota = 2.5;
    EXPECT_EQ(machine.slots(), 3);
    machine.quota = 0.1;
    EXPECT_EQ(machine.slots(), 1);
    machine.quota = 64;
    EXPECT_EQ(machine.slots(), 8);
}

TEST(Slots, OfThisMachineFitItsProcessors) {
    auto const machine = processors();
    EXPECT_GE(machine.slots(), 1);
    EXPECT_LE(machine.slots(), machine.hardware_threads());
    EXPECT_EQ(usable_cores(), machine.slots());
}

TEST(Slots, FollowTheAffinityOfThisProcess) {
    cpu_set_t before;
    ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
    int first = 0;
    while (!CPU_ISSET(first, &before)) ++first;
    auto const only = to_cpu_set(std::to_string(first));
    ASSERT_EQ(::sched_setaffinity(0, sizeof(only), &only), 0);
    auto const machine = processors();
    ::sched_setaffinity(0, sizeof(before), &before);
    ASSERT_EQ(machine.cores.size(), 1U);
    EXPECT_THAT(machine.cores[0].cpus, ElementsAre(first));
}

TEST(CpuList, GoesToTextAndBack) {
    EXPECT_EQ(cpu_list({0, 1, 2, 3, 8}), "0-3,8");
    EXPECT_EQ(cpu_list({}), "");
    EXPECT_THAT(parse_cpu_list("0-3,8"), ElementsAre(0, 1, 2, 3, 8));
    EXPECT_TRUE(parse_cpu_list("").empty());
    auto const set = to_cpu_set("1,3-4");
    EXPECT_EQ(CPU_COUNT(&set), 3);
    EXPECT_TRUE(CPU_ISSET(4, &set));
}

TEST(CpuList, RefusesWhatIsNone) {
    for (char const* const bad :
         {"a", "1-", "-1", "3-1", "1,,2", "1,", ",1", "2,1", "1 2", "0-99999"})
        EXPECT_THAT(testing_support::refusal([&] { parse_cpu_list(bad); }), HasSubstr(bad)) << bad;
    EXPECT_THAT(testing_support::refusal([] { to_cpu_set("1024"); }), HasSubstr("1024"));
}

/// A fake /proc and /sys.
class Cgroup : public testing::Test {
protected:
    void SetUp() override {
        root_ = testing::TempDir() + text("sinew-cgroup-", ::getpid());
        std::filesystem::remove_all(root_);
    }
    void TearDown() override { std::filesystem::remove_all(root_); }
    void file(std::string const& path, std::string const& content) const {
        std::filesystem::path const whole = root_ + path;
        std::filesystem::create_directories(whole.parent_path());
        std::ofstream(whole) << content << '\n';
    }
    std::string root_;
};

TEST_F(Cgroup, Version2TakesTheLeastUpToTheRoot) {
    file("/proc/self/cgroup", "0::/pods/a");
    file("/sys/fs/cgroup/pods/a/cpu.max", "max 100000");
    file("/sys/fs/cgroup/pods/cpu.max", "250000 100000");
    file("/sys/fs/cgroup/cpu.max", "400000 100000");
    EXPECT_EQ(cgroup_quota(root_), 2.5);
    EXPECT_EQ(cpu_quota(root_)->folder, root_ + "/sys/fs/cgroup/pods");
}

TEST_F(Cgroup, InAContainerThePathMayBeTheHosts) {
    file("/proc/self/cgroup", "0::/kubepods/x/y");
    file("/sys/fs/cgroup/cpu.max", "150000 100000");
    EXPECT_EQ(cgroup_quota(root_), 1.5);
}

TEST_F(Cgroup, Version1) {
    file("/proc/self/cgroup", "5:memory:/m\n4:cpuacct,cpu:/pod");
    file("/sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us", "300000");
    file("/sys/fs/cgroup/cpu/pod/cpu.cfs_period_us", "100000");
    EXPECT_EQ(cgroup_quota(root_), 3.0);
}

TEST_F(Cgroup, NoneMeansNoLimit) {
    EXPECT_EQ(cgroup_quota(root_), std::nullopt);
    file("/proc/self/cgroup", "4:cpu:/\nrubbish\n:\n0::");
    file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
    file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
    EXPECT_EQ(cgroup_quota(root_), std::nullopt);
}

}  // namespace
}  // namespace sinew::launch
