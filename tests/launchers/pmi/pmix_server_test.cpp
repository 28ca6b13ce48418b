// SPDX-License-Identifier: Apache-2.0
// Runs unmodified Open MPI programs under sinew's PMIx servers alone: one agent process per node.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <span>
#include <sstream>
#include <utility>

#include "src/base/text.hpp"
#include "tests/launchers/pmi/hosted_job.hpp"

namespace sinew::test {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAreArray;

// {3, 1}: three ranks on the first node and one on the second.
std::vector<int> layout(std::vector<int> const& ranks_of_node) {
    std::vector<int> nodes;
    for (std::size_t node = 0; node < ranks_of_node.size(); ++node)
        nodes.insert(nodes.end(), ranks_of_node[node], static_cast<int>(node));
    return nodes;
}

HostedJob program(std::vector<std::string> const& arguments,
                  std::vector<int> const& ranks_of_node) {
    HostedJob job;
    job.argv = {SINEW_TEST_MPI_PROGRAM};
    job.argv.insert(job.argv.end(), arguments.begin(), arguments.end());
    job.node_of_rank = layout(ranks_of_node);
    return job;
}

std::vector<std::string> lines(std::string const& output) {
    std::vector<std::string> found;
    std::istringstream in(output);
    for (std::string line; std::getline(in, line);) found.push_back(line);
    return found;
}

std::vector<std::string> greetings(std::vector<int> const& ranks_of_node) {
    std::vector<std::string> words;
    int size = 0, first = 0;
    for (int const count : ranks_of_node) size += count;
    for (int const count : ranks_of_node) {
        int node_sum = 0;
        for (int local = 0; local < count; ++local) node_sum += first + local;
        for (int local = 0; local < count; ++local)
            words.push_back(text("rank ", first + local, " of ", size, ", ", local, " of ", count,
                                 " on the node, sum ", size * (size + 1) / 2, ", node sum ",
                                 node_sum));
        first += count;
    }
    return words;
}

// Removing the shared-memory segments of killed ranks is up to the folder's owner.
std::set<std::string> leftovers_of_server(HostedResult const& result) {
    std::set<std::string> left;
    for (auto const& path : result.leftovers)
        if (path.find("/vader_segment.") == std::string::npos) left.insert(path);
    return left;
}

class PmixServerTest : public testing::Test {
protected:
    static void SetUpTestSuite() {
        bool usable = false;
        auto const about = launch::PmixServer::describe(usable);
        if (!usable || std::string(SINEW_TEST_MPI_PROGRAM).empty()) {
            std::cout << "skipped: " << (usable ? "no mpicxx.openmpi when this was built" : about)
                      << std::endl;
            std::exit(77);
        }
    }
};

class Layouts : public PmixServerTest, public testing::WithParamInterface<std::vector<int>> {};

TEST_P(Layouts, RanksFindEachOtherAndTheirNode) {
    auto const result = run_hosted(program({"hello"}, GetParam()));
    EXPECT_TRUE(result.all_succeeded()) << result.output;
    EXPECT_THAT(lines(result.output), UnorderedElementsAreArray(greetings(GetParam())));
    ASSERT_THAT(result.jobs, SizeIs(1));
    auto const size = layout(GetParam()).size();
    EXPECT_THAT(result.jobs[0].connected, SizeIs(size));
    EXPECT_THAT(result.jobs[0].finalized, SizeIs(size));
    EXPECT_THAT(result.leftovers, IsEmpty());
    // One agent needs no fences between agents; several do.
    EXPECT_EQ(result.fences > 0, GetParam().size() > 1);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Layouts,
                         testing::Values(std::vector<int>{1}, std::vector<int>{4},
                                         std::vector<int>{16}, std::vector<int>{2, 2},
                                         std::vector<int>{4, 4, 4, 4},
                                         std::vector<int>{3, 1, 2, 4}));

TEST_F(PmixServerTest, BearsNodeNamesThatTheLibraryDoesNot) {
    auto job = program({"hello"}, {2, 1});
    job.node_prefix = std::string(60, 'n');
    auto const result = run_hosted(job);
    EXPECT_TRUE(result.all_succeeded()) << result.output;
    EXPECT_THAT(lines(result.output), UnorderedElementsAreArray(greetings({2, 1})));
}

TEST_F(PmixServerTest, FetchesDataWhenAskedForWhereItIsNotCollected) {
    auto job = program({"hello"}, {2, 2});
    job.environment = {"OMPI_MCA_pmix_base_async_modex=1", "OMPI_MCA_pmix_base_collect_data=0"};
    auto const result = run_hosted(job);
    EXPECT_TRUE(result.all_succeeded()) << result.output;
    EXPECT_THAT(lines(result.output), UnorderedElementsAreArray(greetings({2, 2})));
    EXPECT_GT(result.modexes, 0);
}

TEST_F(PmixServerTest, IsNotMisledByOuterLaunchers) {
    for (auto const* word :
         {"SLURM_NODELIST=x", "SLURM_JOBID=3", "FLUX_JOB_ID=4", "PMI_RANK=1", "PMI_FD=99",
          "PMIX_NAMESPACE=outer", "PMIX_RANK=7", "PMIX_SERVER_URI2=x;tcp4://127.0.0.1:1",
          "OMPI_MCA_ess=^singleton", "OMPI_MCA_orte_hnp_uri=u", "OMPI_COMM_WORLD_RANK=9"})
        ::putenv(const_cast<char*>(word));
    auto const result = run_hosted(program({"hello"}, {1, 1}));
    for (auto const* name : {"SLURM_NODELIST", "SLURM_JOBID", "FLUX_JOB_ID", "PMI_RANK", "PMI_FD",
                             "PMIX_NAMESPACE", "PMIX_RANK", "PMIX_SERVER_URI2", "OMPI_MCA_ess",
                             "OMPI_MCA_orte_hnp_uri", "OMPI_COMM_WORLD_RANK"})
        ::unsetenv(name);
    EXPECT_TRUE(result.all_succeeded()) << result.output;
    EXPECT_THAT(lines(result.output), UnorderedElementsAreArray(greetings({1, 1})));
}

TEST_F(PmixServerTest, TellsRanksWhereTheyAreBound) {
    auto job = program({"hello"}, {2});
    job.cpusets = {"0", "0"};
    auto const result = run_hosted(job);
    EXPECT_TRUE(result.all_succeeded()) << result.output;
    EXPECT_THAT(lines(result.output), UnorderedElementsAreArray(greetings({2})));
}

TEST_F(PmixServerTest, PublishesNamesAcrossNodes) {
    auto const result = run_hosted(program({"names"}, {1, 2}));
    EXPECT_TRUE(result.all_succeeded()) << result.output;
    EXPECT_THAT(lines(result.output), SizeIs(3));
    EXPECT_THAT(lines(result.output),
                Each(HasSubstr("looked up 1 'a port, with \"quotes\" and a ; in it', missing 0, "
                               "unpublished 1, after 0")));
    EXPECT_THAT(result.output, HasSubstr("rank 0: published 1, twice 0"));
}

TEST_F(PmixServerTest, RefusesToSpawnCleanly) {
    auto const result = run_hosted(program({"spawn"}, {1, 1}));
    EXPECT_TRUE(result.all_succeeded()) << result.output;
    EXPECT_THAT(result.output, HasSubstr("rank 0: spawn failed"));
    EXPECT_THAT(result.output, HasSubstr("rank 1: spawn failed"));
}

TEST_F(PmixServerTest, SpawningWithTheUsualHandlerEndsTheJob) {
    auto const result = run_hosted(program({"spawn_world"}, {1, 1}));
    EXPECT_FALSE(result.timed_out);
    EXPECT_THAT(result.aborts, Not(IsEmpty()));
    EXPECT_FALSE(result.all_succeeded());
}

TEST_F(PmixServerTest, PassesOnWhoAbortedWithWhat) {
    auto const result = run_hosted(program({"abort", "3"}, {2, 2}));
    EXPECT_FALSE(result.timed_out);
    ASSERT_THAT(result.aborts, SizeIs(1));
    EXPECT_EQ(result.aborts[0].rank, 3);
    EXPECT_EQ(result.aborts[0].status, 42);
    EXPECT_EQ(WEXITSTATUS(result.jobs.at(0).statuses.at(3)), 42);
    EXPECT_THAT(leftovers_of_server(result), IsEmpty());
}

TEST_F(PmixServerTest, SurvivesRanksThatLeaveWithoutFinalizing) {
    auto const result = run_hosted(program({"exit", "1"}, {2, 2}));
    EXPECT_FALSE(result.timed_out);
    EXPECT_EQ(WEXITSTATUS(result.jobs.at(0).statuses.at(1)), 7);
    EXPECT_THAT(result.agent_statuses, Each(0));
    EXPECT_FALSE(result.jobs[0].finalized.contains(1));
}

// Errors printed by libpmix, except those about a client that died before or in the handshake:
// whether a kill hits that moment is random.
std::vector<std::string> complaints(std::string const& output) {
    auto found = lines(output);
    std::erase_if(found, [](std::string const& line) {
        return line.find("PMIX ERROR") == std::string::npos ||
               line.find("PMIX ERROR: UNREACHABLE") != std::string::npos ||
               line.find("PMIX ERROR: INVALID-NAMESPACE") != std::string::npos;
    });
    return found;
}

void expect_clean_end(HostedResult const& result, int killed) {
    EXPECT_FALSE(result.timed_out);
    EXPECT_EQ(WTERMSIG(result.jobs.at(0).statuses.at(killed)), SIGKILL);
    EXPECT_THAT(result.agent_statuses, Each(0));
    EXPECT_THAT(leftovers_of_server(result), IsEmpty());
    EXPECT_THAT(complaints(result.output), IsEmpty());
}

TEST_F(PmixServerTest, SurvivesARankKilledBeforeItConnects) {
    expect_clean_end(run_hosted(program({"die_early", "1"}, {2, 2})), 1);
}

TEST_F(PmixServerTest, SurvivesARankKilledInInit) {
    auto job = program({"hello"}, {2, 2});
    job.kill_connected = 2;
    expect_clean_end(run_hosted(job), 2);
}

TEST_F(PmixServerTest, SurvivesARankKilledAfterInit) {
    auto job = program({"wait"}, {2, 2});
    job.kill_printed = 2;
    expect_clean_end(run_hosted(job), 2);
}

TEST_F(PmixServerTest, EndsWhenNoRankEverCame) {
    auto job = program({"hello"}, {2, 2});
    job.never_start = true;
    auto const result = run_hosted(job);
    EXPECT_TRUE(result.all_succeeded()) << result.output;
    EXPECT_THAT(result.leftovers, IsEmpty());
}

using Jobs = std::span<HostedResult::Job const>;

std::pair<int, int> range(Jobs jobs, int HostedResult::Job::*count) {
    auto const less = [count](auto const& one, auto const& other) {
        return one.*count < other.*count;
    };
    auto const [least, most] = std::minmax_element(jobs.begin(), jobs.end(), less);
    return {(*least).*count, (*most).*count};
}

// The first jobs may load libraries that stay. The library closes a rank's connection some time
// after the rank has ended, so single counts mean little; a leak in each job adds up.
TEST_F(PmixServerTest, RunsJobAfterJobWithoutGrowth) {
    auto job = program({"hello"}, {1, 1});
    job.times = 20;
    auto const result = run_hosted(job);
    EXPECT_TRUE(result.all_succeeded()) << result.output;
    ASSERT_THAT(result.jobs, SizeIs(20));
    auto const early = Jobs(result.jobs).subspan(4, 4), late = Jobs(result.jobs).last(4);
    for (auto const count : {&HostedResult::Job::open_files, &HostedResult::Job::files})
        EXPECT_LE(range(late, count).first, range(early, count).second);
    EXPECT_THAT(lines(result.output), SizeIs(40));
}

}  // namespace
}  // namespace sinew::test
