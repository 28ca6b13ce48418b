// SPDX-License-Identifier: Apache-2.0
//
// The environment of ranks: variables, folder, programs, and no secrets.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>

#include "src/base/text.hpp"
#include "tests/launchers/run/launched.hpp"
#include "tests/launchers/run/programs.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

using testing::HasSubstr;
using testing::Not;

class Environment : public RunTest {};

TEST_F(Environment, TellsEachRankWhoItIs) {
    Words words{"--fake-nodes", "3,1", "-n", "4", rank_program(), "print"};
    Words const names{"SINEW_RANK",
                      "SINEW_SIZE",
                      "SINEW_LOCAL_RANK",
                      "SINEW_LOCAL_SIZE",
                      "SINEW_NODE",
                      "SINEW_NODES",
                      "RANK",
                      "WORLD_SIZE",
                      "LOCAL_RANK",
                      "LOCAL_WORLD_SIZE",
                      "OMPI_COMM_WORLD_RANK",
                      "OMPI_COMM_WORLD_SIZE",
                      "OMPI_COMM_WORLD_LOCAL_RANK",
                      "OMPI_COMM_WORLD_LOCAL_SIZE",
                      "OMPI_COMM_WORLD_NODE_RANK",
                      "SINEW_RESTART",
                      "SINEW_EPOCH"};
    words.insert(words.end(), names.begin(), names.end());
    auto const out = run(words).out;
    for (int rank = 0; rank < 4; ++rank) {
        int const node = rank == 3, local = rank == 3 ? 0 : rank, here = rank == 3 ? 1 : 3;
        std::vector<int> const values{rank, 4,    local, here,  node, 2,     rank, 4, local,
                                      here, rank, 4,     local, here, local, 0,    0};
        for (std::size_t i = 0; i < names.size(); ++i)
            EXPECT_EQ(count_of(out, text(rank, " ", names[i], "=", values[i], "\n")), 1U)
                << rank << names[i] << "\n"
                << out;
    }
}

TEST_F(Environment, NamesWhatTheJobHasInCommon) {
    auto const out = run({"--fake-nodes", "2", "-n", "4", rank_program(), "print", "SINEW_JOB_ID",
                          "MASTER_ADDR", "MASTER_PORT", "SINEW_NODE_NAME", "SINEW_JOB_FOLDER"})
                         .out;
    for (auto const* name :
         {"SINEW_JOB_ID", "MASTER_ADDR", "MASTER_PORT", "SINEW_NODE_NAME", "SINEW_JOB_FOLDER"}) {
        std::set<std::string> values;
        auto const before = text(" ", name, "=");  // "2 SINEW_JOB_ID=..."
        for (auto const& line : lines_of(out))
            if (line.compare(1, before.size(), before) == 0)
                values.insert(line.substr(1 + before.size()));
        bool const by_node = std::string(name).find("NODE_NAME") != std::string::npos ||
                             std::string(name) == "SINEW_JOB_FOLDER";
        EXPECT_EQ(values.size(), by_node ? 2U : 1U) << name << "\n" << out;
    }
}

TEST_F(Environment, TakesVariablesFromTheCommandLine) {
    auto const file = testing::TempDir() + text("sinew-env-", ::getpid());
    std::ofstream(file) << "# a remark\nSINEW_TEST_C=of the file\nSINEW_TEST_D=1=2\n";
    auto const ended = run({"-x", "SINEW_TEST_A=a b", "-x", "SINEW_TEST_B", "--env-file", file,
                            "-n", "1", rank_program(), "print", "SINEW_TEST_A", "SINEW_TEST_B",
                            "SINEW_TEST_C", "SINEW_TEST_D", "SINEW_TEST_E"},
                           {.env = {{"SINEW_TEST_B", "mine"}}});
    std::filesystem::remove(file);
    EXPECT_EQ(ended.out,
              "0 SINEW_TEST_A=a b\n0 SINEW_TEST_B=mine\n0 SINEW_TEST_C=of the file\n"
              "0 SINEW_TEST_D=1=2\n0 SINEW_TEST_E?\n");
}

TEST_F(Environment, HasTheFolderThatWasNamed) {
    EXPECT_EQ(run({"--wdir", "/usr/bin", "-n", "1", "pwd"}).out, "/usr/bin\n");
    EXPECT_EQ(run({"-n", "1", "pwd"}).out, std::filesystem::current_path().string() + "\n");
}

TEST_F(Environment, MayDifferByProgram) {
    auto const ended = run({"-n", "1", "-x", "ROLE=server", rank_program(), "print", "ROLE",
                            "SINEW_SIZE", ":", "-n", "2", "-x", "ROLE=client", "--wdir", "/usr",
                            "sh", "-c", "echo $SINEW_RANK is $ROLE in $(pwd)"});
    EXPECT_EQ(ended.code, 0);
    for (auto const* line :
         {"0 ROLE=server\n", "0 SINEW_SIZE=3\n", "1 is client in /usr\n", "2 is client in /usr\n"})
        EXPECT_THAT(ended.out, HasSubstr(line));
}

TEST_F(Environment, OfAnotherLauncherIsNotPassedOn) {
    auto const ended = run({"-n", "1", rank_program(), "print", "PMI_ID", "PMIX_NAMESPACE",
                            "SLURM_PROCID", "SINEW_RANK", "OMPI_COMM_WORLD_RANK"},
                           {.env = {{"PMI_ID", "17"},
                                    {"PMIX_NAMESPACE", "foreign"},
                                    {"SINEW_RANK", "17"},
                                    {"OMPI_COMM_WORLD_RANK", "17"}}});
    EXPECT_THAT(ended.out, HasSubstr("SINEW_RANK=0\n"));
    EXPECT_THAT(ended.out, HasSubstr("OMPI_COMM_WORLD_RANK=0\n"));
    EXPECT_THAT(ended.out, Not(HasSubstr("=17")));
    EXPECT_THAT(ended.out, Not(HasSubstr("foreign")));
}

// The user chooses how PMIx clients authenticate; both ends must use the same choice.
TEST_F(Environment, LeavesTheUsersChoiceOfSecurityToPmix) {
    if (mpis().empty() || mpis().front().name != "openmpi") GTEST_SKIP() << "no Open MPI here";
    Words const program{"-n",           "1",     "--mpi",         "pmix",
                        rank_program(), "print", "PMIX_MCA_psec", "PMIX_SECURITY_MODE"};
    auto const printed = [&](std::string const& how) {
        return testing::AllOf(HasSubstr("PMIX_MCA_psec=" + how + "\n"),
                              HasSubstr("PMIX_SECURITY_MODE=" + how + "\n"));
    };
    EXPECT_THAT(run(program).out, printed("native"));
    EXPECT_THAT(run(program, {.env = {{"PMIX_MCA_psec", "none"}}}).out, printed("none"));
    Words words{"-x", "PMIX_MCA_psec=none"};
    words.insert(words.end(), program.begin(), program.end());
    EXPECT_THAT(run(words).out, printed("none"));
    words.insert(words.begin(), {"-H", "localhost"});
    EXPECT_THAT(run(words).out, printed("none"));
}

// The job's secret has 64 hexadecimal digits, like the keys derived from it.
bool has_secret(std::string const& bytes) {
    std::size_t run = 0;
    for (char const c : bytes + '\0') {
        if (std::isxdigit(static_cast<unsigned char>(c)) == 0) {
            if (run == 64) return true;
            run = 0;
        } else {
            ++run;
        }
    }
    return false;
}

TEST_F(Environment, HoldsNoSecret) {
    for (Words const& nodes : {Words{"--fake-nodes", "2"}, Words{"-H", "localhost:2"}}) {
        Words words = nodes;
        words.insert(words.end(), {"-n", "2", rank_program(), "exit", "0", "99", "0"});
        Launched job(words);
        ASSERT_TRUE(job.says("ready", 2));
        auto const all = processes_with("SINEW_TEST_MARK", job.mark());
        EXPECT_GE(all.size(), 5U);
        for (auto const& process : all)
            for (auto const* name : {"cmdline", "environ"}) {
                auto const bytes = read_whole(text("/proc/", process.pid, "/", name));
                EXPECT_FALSE(bytes.empty());
                EXPECT_FALSE(has_secret(bytes)) << name << " of " << process.command;
            }
        auto const folder = environment_of(job.rank(0)).at("SINEW_JOB_FOLDER");
        auto const top = std::filesystem::path(folder).parent_path();
        EXPECT_EQ(std::filesystem::status(top).permissions(), std::filesystem::perms::owner_all);
        job.signal(SIGTERM);
        job.wait();
    }
}

}  // namespace
}  // namespace sinew::testing_support
