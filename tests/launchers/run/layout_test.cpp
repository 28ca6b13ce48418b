// SPDX-License-Identifier: Apache-2.0
//
// Unmodified programs of Open MPI and MPICH, in every layout and in difficult environments.
#include <gmock/gmock.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "src/base/text.hpp"
#include "tests/launchers/run/launched.hpp"
#include "tests/launchers/run/programs.hpp"
#include "tests/support/leak_check.hpp"

namespace sinew::testing_support {
namespace {

using testing::HasSubstr;

using Slots = std::vector<int>;

class MpiProgram : public RunTest, public testing::WithParamInterface<Mpi> {
protected:
    // The program compares what MPI reports with the variables, and sends data between all ranks.
    static void expect_layout(Slots const& slots, Words flags, Launched::Setting setting = {}) {
        int const ranks = std::accumulate(slots.begin(), slots.end(), 0);
        std::string nodes;
        for (int const each : slots) nodes += text(nodes.empty() ? "" : ",", each);
        if (slots.size() > 1) flags.insert(flags.begin(), {"--fake-nodes", nodes});
        flags.insert(flags.end(), {"-n", text(ranks), GetParam().program, "layout"});
        auto const ended = run(flags, std::move(setting), Seconds(60));
        EXPECT_EQ(ended.code, 0) << nodes << "\n" << ended.err;
        int rank = 0;
        for (std::size_t node = 0; node < slots.size(); ++node)
            for (int local = 0; local < slots[node]; ++local)
                EXPECT_THAT(ended.out,
                            HasSubstr(text("rank ", rank++, " of ", ranks, ", ", local, " of ",
                                           slots[node], " on node ", node, "\n")));
        EXPECT_EQ(ended.err, "");
    }
};

TEST_P(MpiProgram, RunsOnOneNode) {
    expect_layout({1}, {});
    expect_layout({4}, {});
    expect_layout({16}, {});
}

TEST_P(MpiProgram, RunsOnSeveralNodes) {
    expect_layout({2, 2}, {});
    expect_layout({4, 4, 4, 4}, {});
    expect_layout({3, 1, 2, 4}, {});
}

TEST_P(MpiProgram, RunsInADeepTree) {
    expect_layout({1, 1, 1, 1, 1, 1, 1}, {"--tree-fanout", "2"});
}

TEST_P(MpiProgram, RunsOverTls) {
    auto const ended = run({"-H", "localhost:3", "-n", "3", GetParam().program, "layout"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(count_of(ended.out, " of 3 on node 0\n"), 3U);
}

TEST_P(MpiProgram, IsNotDisturbedByOtherLaunchers) {
    Launched::Setting setting;
    setting.env = {{"SLURM_JOB_ID", "4711"},
                   {"SLURM_JOBID", "4711"},
                   {"SLURM_STEP_ID", "0"},
                   {"SLURM_PROCID", "3"},
                   {"SLURM_LOCALID", "3"},
                   {"SLURM_NODELIST", "far[1-4]"},
                   {"SLURM_NTASKS", "8"},
                   {"SLURM_TASKS_PER_NODE", "2(x4)"},
                   {"SLURM_NODEID", "2"},
                   {"SLURM_MPI_TYPE", "pmix"},
                   {"SLURM_PMIX_MAPPING_SERV", "(vector,(0,1,8))"},
                   {"PMI_RANK", "5"},
                   {"PMI_SIZE", "9"},
                   {"PMI_FD", "77"},
                   {"PMI_PORT", "far:1"},
                   {"PMI_ID", "5"},
                   {"PMI_SPAWNED", "0"},
                   {"PMIX_RANK", "5"},
                   {"PMIX_NAMESPACE", "foreign"},
                   {"PMIX_SERVER_URI41", "foreign.0;tcp4://1.2.3.4:5"},
                   {"PMIX_SERVER_TMPDIR", "/no/such"},
                   {"PMIX_SECURITY_MODE", "none"},
                   {"PMIX_GDS_MODULE", "hash"},
                   {"OMPI_COMM_WORLD_RANK", "5"},
                   {"OMPI_COMM_WORLD_SIZE", "9"},
                   {"OMPI_COMM_WORLD_LOCAL_RANK", "5"},
                   {"OMPI_MCA_ess", "pmi"},
                   {"OMPI_MCA_orte_hnp_uri", "1.0;tcp://1.2.3.4:5"},
                   {"OMPI_MCA_orte_ess_num_procs", "9"},
                   {"OMPI_MCA_orte_launch", "1"},
                   {"OMPI_MCA_ess_base_jobid", "1"},
                   {"OMPI_MCA_ess_base_vpid", "5"},
                   {"MPI_LOCALRANKID", "5"},
                   {"MPI_LOCALNRANKS", "9"},
                   {"HYDI_CONTROL_FD", "77"},
                   {"FLUX_JOB_ID", "1"},
                   {"PALS_RANKID", "5"}};
    expect_layout({3}, {}, setting);
    expect_layout({2, 1}, {}, std::move(setting));
}

TEST_P(MpiProgram, FetchesWhatItNeedsDirectly) {
    if (GetParam().name != "openmpi") GTEST_SKIP() << "a way of Open MPI's";
    Words const flags{"-x", "OMPI_MCA_pmix_base_async_modex=1", "-x",
                      "OMPI_MCA_pmix_base_collect_data=0"};
    expect_layout({2, 2}, flags);
    expect_layout({1, 2, 1}, flags);
    Words deep = flags;
    deep.insert(deep.end(), {"--tree-fanout", "2"});
    expect_layout({1, 1, 1, 1, 1}, deep);
}

TEST_P(MpiProgram, RestartsAsAWhole) {
    for (Words const& nodes : {Words{}, Words{"--fake-nodes", "2"}}) {
        Words words = nodes;
        words.insert(words.end(),
                     {"--max-restarts", "1", "-n", "4", GetParam().program, "restarts"});
        auto const ended = run(words);
        EXPECT_EQ(ended.code, 0) << ended.err;
        EXPECT_EQ(count_of(ended.out, "again 1"), 4U);
    }
}

class Places : public RunTest {};

// Two racks whose nodes are listed alternately: the ring passes through one rack, then the other.
TEST_F(Places, OfNodesOrderTheRanks) {
    auto const agent =
        "sh -c 'case $1 in a|c) place=r1;; *) place=r2;; esac; shift; SINEW_PLACE=$place exec "
        "\"$@\"' "
        "sh {host} {command}";
    Words const words{"-H",
                      "a:1,b:1,c:1,d:1",
                      "--launch-agent",
                      agent,
                      "--root-address",
                      "127.0.0.1",
                      "--tag-output",
                      "-n",
                      "4",
                      "sh",
                      "-c",
                      "echo at $SINEW_NODE_NAME"};
    auto const ended = run(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    for (auto const* line : {"[0]<stdout>: at a\n", "[1]<stdout>: at c\n", "[2]<stdout>: at b\n",
                             "[3]<stdout>: at d\n"})
        EXPECT_EQ(count_of(ended.out, line), 1U) << line << ended.out;
}

TEST_F(Places, ThatAreNoneAreToldAndDoNotCount) {
    auto const ended =
        run({"-H", "a:1,b:1", "--launch-agent", "env SINEW_PLACE=1/2/3/4/5 {command}",
             "--root-address", "127.0.0.1", "-n", "2", "true"});
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(count_of(ended.err, "SINEW_PLACE: 1/2/3/4/5 (more than four parts)"), 2U)
        << ended.err;
}

class Allocations : public RunTest {};

// In a Slurm allocation with a fake srun.
TEST_F(Allocations, OfTheBatchSystemGiveTheHosts) {
    auto const folder = testing::TempDir() + "sinew-srun-" + std::to_string(::getpid());
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/srun") << "#!/bin/sh\n"
                                       "echo srun $* >&2\n"
                                       "while [ \"${1#--}\" != \"$1\" ]; do shift; done\n"
                                       "read -r line\n"
                                       "for host in far1 far2; do\n"
                                       "    printf '%s\\n' \"$line\" |\n"
                                       "        SLURMD_NODENAME=$host \"$@\" &\n"
                                       "done\n"
                                       "wait\n";
    std::filesystem::permissions(folder + "/srun", std::filesystem::perms::owner_all);
    Launched::Setting setting;
    setting.env = {{"SLURM_JOB_ID", "4711"},
                   {"SLURM_JOB_NODELIST", "far[1-2]"},
                   {"SLURM_TASKS_PER_NODE", "2,1"},
                   {"PATH", folder + ":" + std::getenv("PATH")}};
    Words const words{"--root-address", "127.0.0.1", "sh", "-c", "echo at $SINEW_NODE_NAME"};
    auto const ended = run(words, setting);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(count_of(ended.out, "at far1"), 2U) << ended.out;
    EXPECT_EQ(count_of(ended.out, "at far2"), 1U);
    EXPECT_EQ(count_of(ended.err, "--nodelist=far1,far2"), 1U) << ended.err;
    Words plan{"--dry-run"};
    plan.insert(plan.end(), words.begin(), words.end());
    EXPECT_EQ(count_of(run(plan, setting).out, "hosts: from Slurm job 4711 (SLURM_JOB_NODELIST)"),
              1U);
    Words here{"--backend", "local", "-n", "1", "sh", "-c", "echo at $SINEW_NODE_NAME"};
    EXPECT_EQ(count_of(run(here, setting).out, "at far"), 0U);
    std::filesystem::remove_all(folder);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MpiProgram);
INSTANTIATE_TEST_SUITE_P(Mpis, MpiProgram, testing::ValuesIn(mpis()),
                         [](auto const& mpi) { return mpi.param.name; });

}  // namespace
}  // namespace sinew::testing_support
