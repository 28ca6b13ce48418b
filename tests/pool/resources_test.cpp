// SPDX-License-Identifier: Apache-2.0
// The resources that the workers of a pool get.
#include <gmock/gmock.h>
#include <sched.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <set>
#include <sinew/pool.hpp>
#include <sinew/process.hpp>
#include <sinew/remote_error.hpp>
#include <thread>

#include "src/base/system/cgroup.hpp"
#include "src/process/resources/memory_group.hpp"
#include "tests/pool/pool_fixture.hpp"
#include "tests/pool/tasks.hpp"
#include "tests/process/support/resources.hpp"

namespace sinew {
namespace {

using namespace std::chrono_literals;
using namespace testing_support;
using process::test::Variable;
using testing::AllOf;
using testing::HasSubstr;

struct PoolResources : PoolTest {
    ~PoolResources() override {
        EXPECT_TRUE(eventually([] { return process::test::groups_of(::getpid()).empty(); }));
    }
    static PoolOptions wanting(Meta meta) {
        auto options = quiet();
        options.meta = meta;
        return options;
    }
};

/// "pid gpus", after a while, so that every worker executes some.
std::string my_gpus(int) {
    std::this_thread::sleep_for(20ms);
    char const* const gpus = std::getenv("CUDA_VISIBLE_DEVICES");
    return gpus == nullptr ? "none" : gpus;
}
int my_cores(int) {
    cpu_set_t set;
    CPU_ZERO(&set);
    ::sched_getaffinity(0, sizeof set, &set);
    return CPU_COUNT(&set);
}
int on_one(int x) { return my_cores(x); }
std::string on_a_gpu(int x) { return my_gpus(x); }
int too_much(int x) { return x; }

int take(int mebibytes) {
    std::vector<char> all(static_cast<std::size_t>(mebibytes) << 20, 'x');
    asm volatile("" : : "r"(all.data()) : "memory");
    return mebibytes;
}

}  // namespace
}  // namespace sinew

template <>
inline constexpr sinew::Meta sinew::meta_of<&sinew::on_one> = {.cpu = 1};
template <>
inline constexpr sinew::Meta sinew::meta_of<&sinew::on_a_gpu> = {.gpu = 1};
template <>
inline constexpr sinew::Meta sinew::meta_of<&sinew::too_much> = {.cpu = 1000};

namespace sinew {
namespace {

TEST_F(PoolResources, WorkersHaveTheirCores) {
    Pool pool(3, wanting({.cpu = 1}));
    for (int const cores : pool.map<my_cores>(range(0, 12))) EXPECT_EQ(cores, 1);
}

TEST_F(PoolResources, TheFirstFunctionsAreThePools) {
    int const all = my_cores(0);
    Pool first(2, quiet()), second(2, quiet()), own(2, wanting({.cpu = all}));
    EXPECT_EQ(first.apply<on_one>(0), 1);
    EXPECT_EQ(first.apply<my_cores>(0), 1);
    EXPECT_EQ(second.apply<my_cores>(0), all);
    EXPECT_EQ(own.apply<on_one>(0), all);
}

TEST_F(PoolResources, FunctionsAreRefusedThatWantMoreThanTheWorkersHave) {
    Variable const two("CUDA_VISIBLE_DEVICES", "0,1");
    Pool plain(2, quiet()), cores(2, wanting({.cpu = 1})), gpus(2, wanting({.cpu = 1, .gpu = 1}));
    EXPECT_EQ(plain.apply<square>(3), 9);
    EXPECT_THAT(message_of<UsageError>([&] { plain.apply<on_a_gpu>(0); }),
                AllOf(HasSubstr("on_a_gpu needs 1 of its GPUs (meta_of)"),
                      HasSubstr("has what this process has (by its first function)")));
    EXPECT_THAT(message_of<UsageError>([&] { plain.apply<on_one>(0); }),
                HasSubstr("needs 1 of its cores"));
    EXPECT_THAT(message_of<UsageError>([&] { cores.apply<on_a_gpu>(0); }),
                HasSubstr("has 1 of its cores (by PoolOptions::meta)"));
    EXPECT_EQ(plain.apply<square>(4), 16);
    EXPECT_EQ(cores.apply<on_one>(0), 1);
    EXPECT_EQ(gpus.apply<on_a_gpu>(0).size(), 1u);
}

TEST_F(PoolResources, WorkersHaveGpusOfTheirOwnAndReplacementsTheSame) {
    Variable const three("CUDA_VISIBLE_DEVICES", "0,1,2");
    Pool pool(3, wanting({.gpu = 1}));
    ASSERT_TRUE(pool.wait_until_workers_up());
    auto const seen = [&] {
        auto const all = pool.with({.chunk = 1}).map<my_gpus>(range(0, 30));
        return std::set<std::string>(all.begin(), all.end());
    };
    EXPECT_THAT(seen(), testing::ElementsAre("0", "1", "2"));
    ::kill(pool.apply<who>(0), SIGKILL);
    EXPECT_TRUE(eventually([&] { return pool.stats().started == 4; }));
    ASSERT_TRUE(pool.wait_until_workers_up());
    EXPECT_THAT(seen(), testing::ElementsAre("0", "1", "2"));
}

TEST_F(PoolResources, AsManyWorkersAsThereIsRoomFor) {
    Variable const two("CUDA_VISIBLE_DEVICES", "0,1");
    Pool all(wanting({.gpu = 2})), by_function(quiet());
    EXPECT_EQ(all.apply<my_gpus>(0), "0,1");
    EXPECT_EQ(all.stats().workers, 1);
    all.close();
    all.join();
    EXPECT_EQ(by_function.apply<on_a_gpu>(0).size(), 1u);
    EXPECT_EQ(by_function.stats().workers, std::min(2, cpu_count()));
}

TEST_F(PoolResources, TooMuchIsRefusedWithNumbers) {
    Variable const two("CUDA_VISIBLE_DEVICES", "0,1");
    EXPECT_THAT(message_of<UsageError>([] { Pool(2, wanting({.cpu = 1000})); }),
                HasSubstr("a pool of 2 workers needs 1000 cores, but this host provides "));
    EXPECT_THAT(message_of<UsageError>([] { Pool(3, wanting({.gpu = 1})); }),
                HasSubstr("a pool of 3 workers needs 3 GPUs (1 each), but this host provides 2"));
    Pool pool(2, wanting({.gpu = 1}));
    EXPECT_THAT(message_of<UsageError>([&] { pool.resize(3); }), HasSubstr("needs 3 GPUs"));
    Pool of_function(2, quiet());
    EXPECT_THAT(message_of<UsageError>([&] { of_function.apply<too_much>(1); }),
                HasSubstr("needs 1000 cores"));
    EXPECT_EQ(of_function.apply<square>(3), 9);
}

TEST_F(PoolResources, OverItsMemoryAWorkerDies) {
#if defined(SINEW_TEST_TSAN)
    GTEST_SKIP() << "the sanitizer takes more than the limit";
#endif
    for (bool const by_cgroup : {true, false}) {
        process::allow_memory_groups(by_cgroup);
        Pool pool(1, wanting({.memory_mib = 300}));
        EXPECT_EQ(pool.apply<take>(50), 50);
        // Time for the periodic check that is used without a cgroup.
        auto const greedy = [](int mebibytes) {
            std::vector<char> all(static_cast<std::size_t>(mebibytes) << 20, 'x');
            asm volatile("" : : "r"(all.data()) : "memory");
            std::this_thread::sleep_for(60s);
            return mebibytes;
        };
        try {
            pool.with({.retries = 0}).apply(greedy, 500);
            ADD_FAILURE() << "it lived";
        } catch (WorkerDied const& died) {
            EXPECT_EQ(died.cause(), WorkerDied::Cause::out_of_memory) << died.what();
            EXPECT_THAT(died.what(), AllOf(HasSubstr("300"), HasSubstr("Meta::memory_mib")));
        }
        EXPECT_EQ(pool.apply<take>(50), 50);
    }
    process::allow_memory_groups(true);
}

}  // namespace
}  // namespace sinew
