// SPDX-License-Identifier: Apache-2.0
#include "src/process/resources/memory_group.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sinew/process.hpp>

#include "src/base/system/cgroup.hpp"
#include "tests/process/support/children.hpp"
#include "tests/process/support/resources.hpp"

namespace sinew::process {
namespace {

using test::groups_of;
using test::Heard;
using test::Root;
using test::sleep_for_ever;
using testing::AllOf;
using testing::HasSubstr;
using testing::Optional;
using testing_support::eventually;
using testing_support::message_of;

struct MemoryLimits : test::Resources {};

/// Writes all of the memory, so that it is resident.
void take(int mebibytes) {
    std::vector<char> all(static_cast<std::size_t>(mebibytes) << 20, 'x');
    asm volatile("" : : "r"(all.data()) : "memory");
}
void take_and_stay(int mebibytes) {
    std::vector<char> all(static_cast<std::size_t>(mebibytes) << 20, 'x');
    asm volatile("" : : "r"(all.data()) : "memory");
    sleep_for_ever();
}

/// The thread sanitizer needs many times the memory of a test.
constexpr bool plain_memory =
#if defined(SINEW_TEST_TSAN)
    false;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
    false;
#else
    true;
#endif
#else
    true;
#endif

TEST_F(MemoryLimits, MoreMemoryThanThereIsIsRefusedWithNumbers) {
    auto const bounds = memory_bounds();
    Process process({.name = "greedy", .meta = {.memory_mib = std::size_t{1} << 40}},
                    task<sleep_for_ever>);
    EXPECT_THAT(message_of<UsageError>([&] { process.start(); }),
                AllOf(HasSubstr("greedy needs 1099511627776 MiB of memory"),
                      HasSubstr(text("(it has ", bounds.host >> 20))));
    Process tiny({.meta = {.memory_mib = 15}}, task<sleep_for_ever>);
    EXPECT_THAT(message_of<UsageError>([&] { tiny.start(); }),
                HasSubstr("needs 15 MiB of memory (at"));
}

ChildSpec taking(Meta meta, int mebibytes) {
    ChildSpec spec;
    spec.role = "take memory";
    spec.name = "a test's child";
    auto const words = std::to_string(mebibytes);
    auto const bytes = test::bytes(words);
    spec.message.assign(bytes.begin(), bytes.end());
    spec.meta = meta;
    return spec;
}
[[maybe_unused]] bool const memory_group_roles_added = [] {
    add_role({"take memory", [](ChildStart& start) {
                  take(std::atoi(test::string(start.message).c_str()));
                  return 7;
              }});
    add_role({"take memory and stay", [](ChildStart& start) {
                  take_and_stay(std::atoi(test::string(start.message).c_str()));
                  return 7;
              }});
    return true;
}();

TEST_F(MemoryLimits, AboveItsMemoryAChildIsKilledByTheKernel) {
    if (!plain_memory) GTEST_SKIP() << "the sanitizer takes more than the limit";
    if (!place_of_memory_groups()) GTEST_SKIP() << "we may make no cgroup for memory";
    Heard fits(taking({.memory_mib = 200}, 50)), greedy(taking({.memory_mib = 200}, 300));
    EXPECT_EQ(fits.wait_for_end().code, 7);
    auto const end = greedy.wait_for_end();
    EXPECT_EQ(end.signal, SIGKILL);
    EXPECT_TRUE(end.out_of_memory);
    EXPECT_THAT(end.text(), HasSubstr("by the kernel, for lack of memory: it may have 200 MiB"));
    Heard free(taking({}, 250));
    EXPECT_EQ(free.wait_for_end().code, 7);
}

TEST_F(MemoryLimits, WithoutCgroupsAChildIsWatched) {
    if (!plain_memory) GTEST_SKIP() << "the sanitizer takes more than the limit";
    allow_memory_groups(false);
    auto spec = taking({.memory_mib = 300}, 400);
    spec.role = "take memory and stay";
    Heard greedy(spec);
    auto const end = greedy.wait_for_end();
    Heard fits(taking({.memory_mib = 300}, 100));
    EXPECT_EQ(fits.wait_for_end().code, 7);
    allow_memory_groups(true);
    EXPECT_EQ(end.signal, SIGKILL);
    EXPECT_TRUE(end.out_of_memory);
    EXPECT_THAT(end.text(), AllOf(HasSubstr("killed by signal 9 (it had "),
                                  HasSubstr(" MiB of memory, and may have 300")));
}

TEST_F(MemoryLimits, WhoIsKilledByHandIsNotOutOfMemory) {
    auto spec = taking({.memory_mib = 20'000}, 1);
    spec.role = "take memory and stay";
    if (auto const bounds = memory_bounds(); bounds.host < std::uint64_t{20'000} << 20)
        spec.meta.memory_mib = bounds.cgroup.value_or(bounds.host) >> 20;
    Heard child(spec);
    child.signal(SIGKILL);
    EXPECT_FALSE(child.wait_for_end().out_of_memory);
    EXPECT_EQ(child.wait_for_end().text(), "killed by signal 9 (Killed)");
}

TEST_F(MemoryLimits, AProcessSaysThatItWasOutOfMemory) {
    if (!plain_memory) GTEST_SKIP() << "the sanitizer takes more than the limit";
    testing::internal::CaptureStderr();
    Process process({.name = "hungry", .meta = {.memory_mib = 300}}, task<take_and_stay>, 600);
    process.start();
    process.join();
    EXPECT_THAT(process.exitcode(), Optional(-SIGKILL));
    EXPECT_THAT(
        testing::internal::GetCapturedStderr(),
        AllOf(HasSubstr("hungry (pid "), HasSubstr("may have 300"), HasSubstr("Meta::memory_mib")));
}

// A process that is killed leaves the cgroups of its children; the next one removes them.
void have_a_limited_child(std::string const& report) {
    Process child({.meta = {.memory_mib = 1000}}, task<sleep_for_ever>);
    child.start();
    std::ofstream(report) << "up" << std::flush;
    sleep_for_ever();
}
void start_somebody() {
    Process child({.name = "anybody"}, [] {});
    child.start();
    child.join();
}

TEST_F(MemoryLimits, NothingIsLeftAfterAKill) {
    if (!place_of_memory_groups()) GTEST_SKIP() << "we may make no cgroup for memory";
    auto const report = testing::TempDir() + text("sinew-resources-", ::getpid());
    Process parent(task<have_a_limited_child>, report);
    parent.start();
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(report); }));
    EXPECT_EQ(groups_of(parent.pid()).size(), 1u);
    // A cgroup held by a living process must not be removed by others.
    Process bystander(task<start_somebody>);
    bystander.start();
    bystander.join();
    EXPECT_EQ(groups_of(parent.pid()).size(), 1u);
    auto const pid = parent.pid();
    parent.kill();
    parent.join();
    EXPECT_TRUE(eventually([&] {
        Process next(task<start_somebody>);
        next.start();
        next.join();
        return groups_of(pid).empty();
    }));
    std::filesystem::remove(report);
}

// A process forked by the child remains in its cgroup.
void leave_an_heir(int milliseconds) {
    if (::fork() == 0) {
        ::usleep(static_cast<unsigned>(milliseconds) * 1000);
        ::_exit(0);
    }
}

TEST_F(MemoryLimits, ACgroupGoesWithTheLastOfItsProcesses) {
    if (!place_of_memory_groups()) GTEST_SKIP() << "we may make no cgroup for memory";
    Process process({.meta = {.memory_mib = 1000}}, task<leave_an_heir>, 500);
    process.start();
    process.join();
    EXPECT_TRUE(eventually([] { return groups_of(::getpid()).empty(); }));
}

TEST(MemoryGroups, OfVersion1AreBelowOurs) {
    Root const root;
    auto const mount = text(root.path(), "/sys/fs/cgroup/memory");
    root.file("/proc/self/cgroup", "4:memory:/job/7\n0::/");
    root.file("/proc/meminfo", "MemTotal:  4194304 kB\nMemFree: 1 kB");
    EXPECT_EQ(place_of_memory_groups(root.path()), std::nullopt);
    root.file("/sys/fs/cgroup/memory/job/7/cgroup.procs");
    root.file("/sys/fs/cgroup/memory/job/7/memory.limit_in_bytes", "9223372036854771712");
    EXPECT_EQ(place_of_memory_groups(root.path()), mount + "/job/7");
    EXPECT_EQ(memory_bounds(root.path()).cgroup, std::nullopt);
    EXPECT_EQ(memory_bounds(root.path()).host, std::uint64_t{4} << 30);
    root.file("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1048576000");
    EXPECT_EQ(memory_bounds(root.path()).cgroup, 1'048'576'000u);
    root.file("/sys/fs/cgroup/memory/job/7/memory.use_hierarchy", "0");
    EXPECT_EQ(place_of_memory_groups(root.path()), std::nullopt);
}

TEST(MemoryGroups, OfVersion2AreBesideOursWhereThatWasDelegated) {
    Root const root;
    auto const mount = text(root.path(), "/sys/fs/cgroup");
    root.file("/proc/self/cgroup", "0::/user/unit/leaf");
    root.file("/sys/fs/cgroup/cgroup.controllers", "cpu memory");
    root.file("/sys/fs/cgroup/user/unit/leaf/cgroup.procs");
    root.file("/sys/fs/cgroup/user/unit/leaf/memory.max", "max");
    root.file("/sys/fs/cgroup/user/unit/cgroup.procs");
    root.file("/sys/fs/cgroup/user/unit/cgroup.subtree_control", "cpu");
    EXPECT_EQ(place_of_memory_groups(root.path()), std::nullopt);
    root.file("/sys/fs/cgroup/user/unit/cgroup.subtree_control", "cpu memory pids");
    EXPECT_EQ(place_of_memory_groups(root.path()), mount + "/user/unit");
    root.file("/sys/fs/cgroup/user/unit/leaf/pids.max", "100");
    EXPECT_EQ(place_of_memory_groups(root.path()), std::nullopt);
    root.file("/sys/fs/cgroup/user/unit/leaf/memory.max", "2097152");
    EXPECT_EQ(memory_bounds(root.path()).cgroup, 2'097'152u);
}

}  // namespace
}  // namespace sinew::process
