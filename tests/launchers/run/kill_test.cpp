// SPDX-License-Identifier: Apache-2.0
//
// Kills processes at every place and time: the job ends soon, reports why, and leaves nothing
// behind.
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "src/base/text.hpp"
#include "tests/launchers/run/launched.hpp"
#include "tests/launchers/run/programs.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;

// The maximum wait of a test; a job ends much sooner.
constexpr Seconds soon(20);

bool mark_is_gone(std::string const& mark) {
    return eventually([&] { return processes_with("SINEW_TEST_MARK", mark).empty(); }, soon);
}

// ---- a rank, in an MPI job ----------------------------------------------------------------------

class KilledMpiRank : public RunTest, public testing::WithParamInterface<std::tuple<Mpi, int>> {
protected:
    Words words(Words const& verb) const {
        Words all{"-n", "3", std::get<0>(GetParam()).program};
        if (int const nodes = std::get<1>(GetParam()); nodes > 1)
            all.insert(all.begin(), {"--fake-nodes", std::to_string(nodes)});
        all.insert(all.end(), verb.begin(), verb.end());
        return all;
    }
    static void kill_and_expect(Launched& job, int rank) {
        pid_t const pid = job.rank(rank);
        ASSERT_GT(pid, 0);
        ::kill(pid, SIGKILL);
        auto const ended = job.wait(soon);
        EXPECT_EQ(ended.code, 137) << ended.err;
        EXPECT_THAT(ended.err, ContainsRegex(text("rank ", rank, " on [^ ]+ \\(pid ", pid,
                                                  "\\): killed by signal 9")));
    }
};

TEST_P(KilledMpiRank, BeforeMpiInit) {
    Launched job(words({"before", "2"}));
    ASSERT_TRUE(job.says("away"));
    ASSERT_TRUE(job.says("in\n", 2));
    kill_and_expect(job, 2);
}

TEST_P(KilledMpiRank, InMpiInit) {
    // Rank 0 keeps the others waiting there.
    Launched job(words({"before", "0"}));
    ASSERT_TRUE(job.says("in\n", 2));
    ::usleep(300'000);  // makes it likely that it is deep inside
    kill_and_expect(job, 1);
}

TEST_P(KilledMpiRank, AfterMpiInit) {
    Launched job(words({"after"}));
    ASSERT_TRUE(job.says("inside", 3));
    kill_and_expect(job, 0);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KilledMpiRank);
INSTANTIATE_TEST_SUITE_P(Mpis, KilledMpiRank,
                         testing::Combine(testing::ValuesIn(mpis()), testing::Values(1, 2)),
                         [](auto const& tested) {
                             return text(std::get<0>(tested.param).name, "_on_",
                                         std::get<1>(tested.param), "_nodes");
                         });

// ---- the launcher's processes ------------------------------------------------------------------

class Killed : public RunTest, public testing::WithParamInterface<std::string> {
protected:
    Words words() const {
        // Ranks that ignore SIGTERM: only SIGKILL ends them.
        if (GetParam() == "plain")
            return {"--fake-nodes", "2", "-n", "4", rank_program(), "ignore", "1", "2", "15"};
        for (auto const& mpi : mpis())
            if (mpi.name == GetParam())
                return {"--fake-nodes", "2", "-n", "4", mpi.program, "after"};
        return {};
    }
    void SetUp() override {
        if (words().empty()) GTEST_SKIP() << "no " << GetParam();
        job.emplace(words());
        ASSERT_TRUE(job->says(GetParam() == "plain" ? "ready" : "inside", 4));
        agents = job->agents(2);
        ASSERT_EQ(agents.size(), 2U);
        ASSERT_GT(agents[1].worker, 0);
    }
    void expect_named_end() {
        auto const ended = job->wait(soon);
        EXPECT_EQ(ended.code, 125) << ended.err;
        EXPECT_THAT(ended.err, AllOf(HasSubstr("sinew: "), HasSubstr("lost")));
        EXPECT_TRUE(mark_is_gone(job->mark()));
    }
    std::optional<Launched> job;
    std::vector<AgentPids> agents;
};

TEST_P(Killed, WorkerOfAnAgent) {
    ::kill(agents[1].worker, SIGKILL);
    expect_named_end();
}

TEST_P(Killed, GuardianOfAnAgent) {
    ::kill(agents[1].init_process, SIGKILL);
    expect_named_end();
}

TEST_P(Killed, BothHalvesOfAnAgent) {
    ::kill(agents[1].init_process, SIGSTOP);  // it must not act between the two
    ::kill(agents[1].worker, SIGKILL);
    ::kill(agents[1].init_process, SIGKILL);
    expect_named_end();
    leaks.folders_may_stay();
    EXPECT_EQ(run({"-n", "1", "true"}).code, 0);
    EXPECT_TRUE(eventually([] { return unheld_folders().empty(); }))
        << "the next sinew run removes what they left";
}

TEST_P(Killed, SinewRunItself) {
    auto const mark = job->mark();
    job->signal(SIGKILL);
    EXPECT_EQ(job->wait(soon).code, 137);
    EXPECT_TRUE(mark_is_gone(mark)) << describe(processes_with("SINEW_TEST_MARK", mark));
}

TEST_P(Killed, EverythingButTheRanks) {
    for (auto const& agent : agents) {
        ::kill(agent.init_process, SIGSTOP);
        ::kill(agent.worker, SIGSTOP);
    }
    job->signal(SIGKILL);
    for (auto const& agent : agents) {
        ::kill(agent.init_process, SIGKILL);
        ::kill(agent.worker, SIGKILL);
    }
    EXPECT_EQ(job->wait(soon).code, 137);
    EXPECT_TRUE(mark_is_gone(job->mark()))
        << describe(processes_with("SINEW_TEST_MARK", job->mark()));
    leaks.folders_may_stay();
    EXPECT_EQ(run({"-n", "1", "true"}).code, 0);
    EXPECT_TRUE(eventually([] { return unheld_folders().empty(); }));
}

INSTANTIATE_TEST_SUITE_P(Jobs, Killed, testing::Values("plain", "openmpi", "mpich"),
                         [](auto const& tested) { return tested.param; });

// ---- deeper trees, and stopped processes -------------------------------------------------------

using Trees = RunTest;

TEST_F(Trees, OutliveNoAgentInTheMiddle) {
    Launched job({"--fake-nodes", "7", "--tree-fanout", "2", "-n", "7", rank_program(), "ignore",
                  "1", "2", "15"});
    ASSERT_TRUE(job.says("ready", 7));
    // In order of arrival, the first two are the root's children, and one of them is a parent.
    auto const agents = job.agents(7);
    ASSERT_EQ(agents.size(), 7U);
    ::kill(agents[0].worker, SIGKILL);
    auto const ended = job.wait(soon);
    EXPECT_EQ(ended.code, 125) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("lost"));
    EXPECT_TRUE(mark_is_gone(job.mark()));
}

TEST_F(Trees, LoseEachAgentAlike) {
    for (std::size_t which = 1; which < 7; which += 2) {
        Launched job({"--fake-nodes", "7", "--tree-fanout", "2", "-n", "7", rank_program(), "exit",
                      "0", "99", "0"});
        ASSERT_TRUE(job.says("ready", 7));
        auto const agents = job.agents(7);
        ASSERT_EQ(agents.size(), 7U);
        ::kill(agents[which].init_process, SIGSTOP);
        ::kill(agents[which].worker, SIGKILL);
        ::kill(agents[which].init_process, SIGCONT);
        EXPECT_EQ(job.wait(soon).code, 125) << which;
    }
}

using Stopped = RunTest;

TEST_F(Stopped, AgentIsFoundOut) {
    Launched job({"--fake-nodes", "2", "-n", "4", rank_program(), "exit", "0", "99", "0"});
    ASSERT_TRUE(job.says("ready", 4));
    auto const agents = job.agents(2);
    ASSERT_EQ(agents.size(), 2U);
    ::kill(agents[1].worker, SIGSTOP);
    auto const ended = job.wait(Seconds(30));
    EXPECT_EQ(ended.code, 125) << ended.err;
    EXPECT_THAT(ended.err, ContainsRegex("sinew: .*lost"));
    EXPECT_TRUE(mark_is_gone(job.mark()))
        << describe(processes_with("SINEW_TEST_MARK", job.mark()));
}

TEST_F(Stopped, AgentThatIsContinuedInTimeIsForgiven) {
    Launched job({"--fake-nodes", "2", "-n", "4", "sh", "-c", "echo ready; sleep 3; echo done"});
    ASSERT_TRUE(job.says("ready", 4));
    auto const agents = job.agents(2);
    ASSERT_EQ(agents.size(), 2U);
    ::kill(agents[1].worker, SIGSTOP);
    ::usleep(1'500'000);
    ::kill(agents[1].worker, SIGCONT);
    auto const ended = job.wait();
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(count_of(ended.out, "done"), 4U);
}

}  // namespace
}  // namespace sinew::testing_support
