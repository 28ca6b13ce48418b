// SPDX-License-Identifier: Apache-2.0
//
// sinew run --gpu: each rank has GPUs of its own, also beside other jobs and pools.
#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>

#include "tests/launchers/run/launched.hpp"
#include "tests/launchers/run/programs.hpp"

namespace sinew::testing_support {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class Gpus : public RunTest {
protected:
    static Launched::Setting with(std::string const& gpus) {
        return {.env = {{"CUDA_VISIBLE_DEVICES", gpus}}};
    }
    static constexpr char show[] =
        "echo $SINEW_RANK: $CUDA_VISIBLE_DEVICES $NVIDIA_VISIBLE_DEVICES";
};

TEST_F(Gpus, AreSharedOutAmongTheRanksOfANode) {
    auto const end = run({"-n", "2", "--gpu", "2", "sh", "-c", show}, with("0,1,GPU-a,3,4"));
    EXPECT_EQ(end.code, 0) << end.err;
    EXPECT_THAT(lines_of(end.out), UnorderedElementsAre("0: 0,1 0,1", "1: GPU-a,3 GPU-a,3"));
    // The nodes are one host, whose GPUs they share out; -x chooses some.
    auto const nodes = run({"--fake-nodes", "2", "-n", "2", "--gpu", "1", "-x",
                            "CUDA_VISIBLE_DEVICES=5,6", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"},
                           with("0"));
    EXPECT_EQ(nodes.code, 0) << nodes.err;
    EXPECT_THAT(lines_of(nodes.out), UnorderedElementsAre("5", "6"));
}

TEST_F(Gpus, ThatANodeDoesNotHaveAreRefused) {
    auto const end = run({"-n", "4", "--gpu", "2", "true"}, with("0"));
    EXPECT_EQ(end.code, 125);
    EXPECT_THAT(end.err,
                HasSubstr("--gpu 2: 4 ranks here need 8 GPUs, but this node has 1. Ask for fewer"));
    EXPECT_EQ(run({"-n", "1", "--gpu", "-1", "true"}).code, 2);
}

TEST_F(Gpus, ThatAnotherJobHasAreLeftToIt) {
    Launched first({"-n", "3", "--name", "first", "--gpu", "1", rank_program(), "signals"},
                   with("0,1,2,3"));
    ASSERT_TRUE(first.says("ready", 3));
    auto const refused = run({"-n", "1", "--gpu", "2", "true"}, with("0,1,2,3"));
    EXPECT_EQ(refused.code, 125);
    EXPECT_THAT(refused.err,
                ContainsRegex("1 rank here needs 2 GPUs, but 3 of 4 are in use by job first "
                              "\\(pid [0-9]+\\)"));
    auto const beside = run({"-n", "1", "--gpu", "1", "sh", "-c", show}, with("0,1,2,3"));
    EXPECT_EQ(beside.code, 0) << beside.err;
    EXPECT_EQ(beside.out, "0: 3 3\n");
    // They are free even if nobody cleans up.
    first.signal(SIGKILL);
    first.wait();
    Ended after;
    EXPECT_TRUE(eventually([&] {
        after = run({"-n", "1", "--gpu", "4", "sh", "-c", show}, with("0,1,2,3"));
        return after.code == 0;
    })) << after.err;
    EXPECT_EQ(after.out, "0: 0,1,2,3 0,1,2,3\n");
}

TEST_F(Gpus, StayWithARestartedJobAndAreSharedOutAgainWithinARank) {
    auto const end = run(
        {"-n", "1", "--gpu", "2", "--max-restarts", "1", "sh", "-c",
         "test $SINEW_RESTART = 1 || exit 1; " + std::string(std::getenv("SINEW_TEST_COMMAND")) +
             " run -n 2 --gpu 1 sh -c 'echo inner $CUDA_VISIBLE_DEVICES'"},
        with("0,1,2"));
    EXPECT_EQ(end.code, 0) << end.err;
    EXPECT_THAT(lines_of(end.out), UnorderedElementsAre("inner 0", "inner 1"));
}

}  // namespace
}  // namespace sinew::testing_support
