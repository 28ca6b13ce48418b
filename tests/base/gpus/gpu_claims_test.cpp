// SPDX-License-Identifier: Apache-2.0
#include "src/base/gpus/gpu_claims.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "src/base/text.hpp"

namespace sinew {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> const two{"0", "MIG-a/1/0"};

class GpuClaimsTest : public testing::Test {
protected:
    GpuClaimsTest() {
        base_ = testing::TempDir() + text("sinew-gpus-", ::getpid());
        std::filesystem::create_directories(base_);
        ::setenv("SINEW_TMPDIR", base_.c_str(), 1);
    }
    ~GpuClaimsTest() override {
        EXPECT_TRUE(std::filesystem::is_empty(base_));
        ::unsetenv("SINEW_TMPDIR");
        ::unsetenv("SINEW_GPU_SCOPE");
        std::filesystem::remove_all(base_);
    }
    std::string base_;
};

TEST_F(GpuClaimsTest, AreExclusiveAllOrNoneAndComeBack) {
    GpuClaims first, second;
    ASSERT_TRUE(first.take(two, 1, "job first"));
    EXPECT_THAT(first.gpus(), ElementsAre("0"));
    EXPECT_FALSE(second.take(two, 2, "job second"));
    EXPECT_THAT(second.gpus(), IsEmpty());
    EXPECT_THAT(holders_of(gpus_in_use(two)), text("job first (pid ", ::getpid(), ")"));
    EXPECT_EQ(second.in_use(), gpus_in_use(two));
    EXPECT_TRUE(second.take(two, 1, "job second"));
    EXPECT_THAT(second.gpus(), ElementsAre("MIG-a/1/0"));
    first.release();
    EXPECT_EQ(gpus_in_use(two).size(), 1u);
}

// Else an error said that none were in use.
TEST_F(GpuClaimsTest, OfOthersAreThoseThatWereFoundWhenItGaveUp) {
    GpuClaims first, second;
    ASSERT_TRUE(first.take(two, 2, "job first"));
    EXPECT_FALSE(second.take(two, 2, "job second"));
    first.release();
    EXPECT_EQ(second.in_use().size(), 2u);
    EXPECT_THAT(holders_of(second.in_use()), text("job first (pid ", ::getpid(), ")"));
}

TEST_F(GpuClaimsTest, OfAProcessThatWasKilledAreFree) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    pid_t const child = ::fork();
    if (child == 0) {
        GpuClaims claims;
        bool const taken = claims.take(two, 2, "killed");
        char const word = taken ? 'y' : 'n';
        if (::write(ready[1], &word, 1) != 1) ::_exit(1);
        for (;;) ::pause();
    }
    char word = 0;
    EXPECT_EQ(::read(ready[0], &word, 1), 1);
    EXPECT_EQ(word, 'y');
    GpuClaims claims;
    EXPECT_FALSE(claims.take(two, 1, "waits"));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_TRUE(claims.take(two, 2, "next"));
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST_F(GpuClaimsTest, OfThoseThatWereGivenAreInAScopeOfTheirOwn) {
    GpuClaims outer, inner, others;
    ASSERT_TRUE(outer.take(two, 1, "outer"));
    for (auto const& variable : gpu_variables(outer.gpus()))
        if (variable.starts_with("SINEW_GPU_SCOPE="))
            ::setenv("SINEW_GPU_SCOPE", variable.substr(variable.find('=') + 1).c_str(), 1);
    ASSERT_TRUE(inner.take({"0"}, 1, "inner"));
    EXPECT_FALSE(others.take({"0"}, 1, "another in the scope"));
    ::unsetenv("SINEW_GPU_SCOPE");
    EXPECT_FALSE(others.take({"0"}, 1, "another outside of it"));
}

// Folders are removed, claimed and found stale at the same time: no two ever have the same one.
TEST_F(GpuClaimsTest, AreExclusiveWhenManyTakeAndRelease) {
    constexpr int processes = 4;
    std::vector<pid_t> children;
    for (int i = 0; i < processes; ++i) {
        pid_t const child = ::fork();
        if (child != 0) {
            children.push_back(child);
            continue;
        }
        int code = 0;
        for (int round = 0; round < 12 && code == 0; ++round) {
            GpuClaims claims;
            if (!claims.take({"x"}, 1, "one of many")) continue;
            // A file that is created by one at a time.
            auto const mine = base_ + "/holder";
            if (::mkdir(mine.c_str(), 0700) != 0) code = 1;
            ::usleep(200);
            if (::rmdir(mine.c_str()) != 0) code = 1;
            remove_stale_folders();
        }
        ::_exit(code);
    }
    for (pid_t const child : children) {
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    remove_stale_folders();
}

}  // namespace
}  // namespace sinew
