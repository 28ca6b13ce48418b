// SPDX-License-Identifier: Apache-2.0
// The resources that children get, as they see them, and their return. Memory:
// memory_group_test.cpp.
#include <gmock/gmock.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <sinew/process.hpp>
#include <vector>

#include "src/base/system/allowed_cpus.hpp"
#include "src/process/resources/cores.hpp"
#include "tests/process/support/resources.hpp"

namespace sinew {
namespace {

using namespace std::chrono_literals;
using process::test::cpus_of;
using process::test::sleep_for_ever;
using process::test::Variable;
using testing::AllOf;
using testing::HasSubstr;
using testing::Optional;
using testing_support::message_of;

struct Resources : process::test::Resources {};

void exit_with_gpus(std::string const& expected) {
    char const* const seen = std::getenv("CUDA_VISIBLE_DEVICES");
    std::exit(expected == (seen == nullptr ? "none" : seen) ? 0 : 1);
}

TEST_F(Resources, CoresAreThoseOfTheChildAndSpreadOverChildren) {
    auto const mine = cpus_of(::getpid());
    Process one({.daemon = true, .grace = 0s, .meta = {.cpu = 1}}, task<sleep_for_ever>),
        other({.daemon = true, .grace = 0s, .meta = {.cpu = 1}}, task<sleep_for_ever>),
        all({.daemon = true, .grace = 0s, .meta = {.cpu = static_cast<int>(mine.size())}},
            task<sleep_for_ever>),
        free({.daemon = true, .grace = 0s}, task<sleep_for_ever>);
    for (auto* each : {&one, &other, &all, &free}) each->start();
    ASSERT_EQ(cpus_of(one.pid()).size(), 1u);
    ASSERT_EQ(cpus_of(other.pid()).size(), 1u);
    EXPECT_THAT(mine, testing::IsSupersetOf(cpus_of(one.pid())));
    if (mine.size() > 1) {
        EXPECT_NE(cpus_of(one.pid()), cpus_of(other.pid()));
    }
    EXPECT_EQ(cpus_of(all.pid()), mine);
    EXPECT_EQ(cpus_of(free.pid()), mine);
}

TEST_F(Resources, CoresThatWereGivenBackAreTheNext) {
    std::vector<std::vector<int>> had;
    std::vector<Process> children;
    auto const count = cpus_of(::getpid()).size() + 1;
    for (std::size_t i = 0; i < count; ++i) {
        children.emplace_back(ProcessOptions{.daemon = true, .grace = 0s, .meta = {.cpu = 1}},
                              task<sleep_for_ever>);
        children.back().start();
        had.push_back(cpus_of(children.back().pid()));
    }
    for (std::size_t i = 0; i < count; ++i) {
        children[i].kill();
        children[i].join();
        Process next({.daemon = true, .grace = 0s, .meta = {.cpu = 1}}, task<sleep_for_ever>);
        next.start();
        // The first and the last child share a core, so their successors may get any core.
        if (i != 0 && i != count - 1) {
            EXPECT_EQ(cpus_of(next.pid()), had[i]) << i;
        }
        children[i] = std::move(next);
    }
}

TEST_F(Resources, MoreCoresThanThereAreAreRefusedWithNumbers) {
    auto const mine = cpus_of(::getpid());
    Process process({.name = "greedy", .meta = {.cpu = 1000}}, task<sleep_for_ever>);
    EXPECT_THAT(message_of<UsageError>([&] { process.start(); }),
                AllOf(HasSubstr("greedy needs 1000 cores, but this host provides "),
                      HasSubstr(text("(cpuset ", cpu_list(mine)))));
    EXPECT_FALSE(process.is_alive());
    Process negative({.meta = {.cpu = -1}}, task<sleep_for_ever>);
    EXPECT_THAT(message_of<UsageError>([&] { negative.start(); }), HasSubstr("asks for -1 cores"));
}

TEST_F(Resources, GpusAreDisjointAndComeBack) {
    Variable const three("CUDA_VISIBLE_DEVICES", "0,GPU-8e1f,2");
    {
        Process two({.daemon = true, .grace = 0s, .meta = {.gpu = 2}}, task<sleep_for_ever>);
        two.start();
        Process one({.meta = {.gpu = 1}}, task<exit_with_gpus>, std::string("2"));
        one.start();
        one.join();
        EXPECT_THAT(one.exitcode(), Optional(0));
        Process again({.name = "late", .meta = {.gpu = 2}}, task<sleep_for_ever>);
        try {
            again.start();
            FAIL() << "not refused";
        } catch (Unavailable const& error) {
            EXPECT_THAT(error.what(),
                        HasSubstr("late needs 2 GPUs, of 3 (0,GPU-8e1f,2) 1 is free"));
        }
    }
    Process two({.meta = {.gpu = 2}}, task<exit_with_gpus>, std::string("0,GPU-8e1f"));
    two.start();
    two.join();
    EXPECT_THAT(two.exitcode(), Optional(0));
}

TEST_F(Resources, MoreGpusThanThereAreAreRefusedAndOtherWishesLeaveThem) {
    Variable const one("CUDA_VISIBLE_DEVICES", "5");
    Process process({.name = "greedy", .meta = {.gpu = 2}}, task<sleep_for_ever>);
    EXPECT_THAT(message_of<UsageError>([&] { process.start(); }),
                HasSubstr("greedy needs 2 GPUs, but this host provides 1 (5)"));
    Process other({.meta = {.cpu = 1}}, task<exit_with_gpus>, std::string("5"));
    other.start();
    other.join();
    EXPECT_THAT(other.exitcode(), Optional(0));
}

void on_one_core() { std::exit(cpus_of(0).size() == 1 ? 0 : 1); }
void anywhere() { std::exit(cpus_of(0) == cpus_of(::getppid()) ? 0 : 1); }
struct OnOneCore {
    static constexpr Meta meta{.cpu = 1};
    void operator()() const { on_one_core(); }
};

}  // namespace
}  // namespace sinew

template <>
inline constexpr sinew::Meta sinew::meta_of<&sinew::on_one_core> = {.cpu = 1};

namespace sinew {
namespace {

int code_of(Process process) {
    process.start();
    process.join();
    return process.exitcode().value();
}

TEST_F(Resources, AFunctionMayHaveItsOwn) {
    EXPECT_EQ(code_of(Process(task<on_one_core>)), 0);
    EXPECT_EQ(code_of(Process(OnOneCore())), 0);
    EXPECT_EQ(code_of(Process(task<anywhere>)), 0);
    int const all = static_cast<int>(cpus_of(0).size());
    EXPECT_EQ(code_of(Process({.meta = {.cpu = all}}, task<on_one_core>)), all == 1 ? 0 : 1);
}

}  // namespace
}  // namespace sinew
