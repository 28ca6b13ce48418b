// SPDX-License-Identifier: Apache-2.0
// The hosts that a job gets inside a batch system's allocation.
#include "launchers/command_line/hosts/allocation.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sinew/error.hpp>

#include "launchers/backends/backend.hpp"
#include "launchers/command_line/parse.hpp"
#include "launchers/common/host_name.hpp"
#include "src/base/text.hpp"
#include "tests/support/refusal.hpp"

namespace sinew::launch {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::refusal;
using Host = HostRequest;

class AllocationTest : public testing::Test {
protected:
    AllocationTest() {
        folder_ = testing::TempDir() + text("sinew-allocation-", ::getpid());
        std::filesystem::create_directories(folder_);
        around_.folder = "/nowhere/at/all";
        set("PATH", folder_);
    }
    ~AllocationTest() override { std::filesystem::remove_all(folder_); }

    void set(std::string const& name, std::string const& value) { around_.variables[name] = value; }
    std::string file(std::string const& content) {
        std::ofstream(folder_ + "/hosts") << content;
        return folder_ + "/hosts";
    }
    void install(char const* program) {
        auto const path = folder_ + "/" + program;
        std::ofstream(path) << "#!/bin/sh\n";
        ::chmod(path.c_str(), 0755);
    }
    RunOptions parse(std::vector<std::string> words = {}) {
        words.push_back("program");
        return parse_run(words, around_);
    }
    void slurm() {
        set("SLURM_JOB_ID", "4711");
        set("SLURM_JOB_NODELIST", "node[1-2],big");
        set("SLURM_TASKS_PER_NODE", "2(x2),8");
    }

    std::string folder_;
    ProcessContext around_;
};

TEST_F(AllocationTest, OfSlurmGivesHostsAndSlots) {
    slurm();
    auto options = parse();
    EXPECT_THAT(options.hosts,
                ElementsAre(Host{"node1", 2, 0}, Host{"node2", 2, 0}, Host{"big", 8, 0}));
    EXPECT_EQ(options.hosts_from, "Slurm job 4711 (SLURM_JOB_NODELIST)");
    EXPECT_FALSE(options.by_srun);  // it is not in PATH
    EXPECT_EQ(choose_entry(options).name, "ssh");
    // Tasks count, not processors; without either, each host reports its number of cores.
    set("SLURM_JOB_CPUS_PER_NODE", "64(x3)");
    EXPECT_EQ(parse().hosts[0].slots, 2);
    set("SLURM_TASKS_PER_NODE", "1");  // in a step on one of the nodes
    set("SLURM_STEP_TASKS_PER_NODE", "1");
    EXPECT_EQ(parse().hosts[0].slots, 64);
    set("SLURM_STEP_TASKS_PER_NODE", "");
    set("SLURM_TASKS_PER_NODE", "");
    EXPECT_EQ(parse().hosts[0].slots, 64);
    set("SLURM_JOB_CPUS_PER_NODE", "");
    EXPECT_EQ(parse().hosts[0].slots, 0);
}

TEST_F(AllocationTest, OfSlurmIsReachedBySrunUnlessSaidOtherwise) {
    slurm();
    install("srun");
    auto options = parse();
    EXPECT_TRUE(options.by_srun);
    auto const backend = choose_backend(options);
    EXPECT_EQ(backend->name(), "slurm");
    EXPECT_EQ(backend->host_variable(), "SLURMD_NODENAME");
    auto const argv = backend
                          ->command_of_all({{.node = 0, .host = "node1", .configuration = {}},
                                            {.node = 2, .host = "big", .configuration = {}}})
                          .argv;
    for (auto const* word :
         {"--unset=SLURM_GPUS_PER_TASK", "srun", "--nodes=2", "--ntasks=2", "--nodelist=node1,big",
          "--mpi=none", "--overlap", "--kill-on-bad-exit=1", "agent"})
        EXPECT_THAT(argv, testing::Contains(word));
    // The others must live when an agent is lost, if the job goes on without it.
    EXPECT_THAT(choose_backend(parse({"--max-restarts", "1"}))
                    ->command({.node = 0, .host = "node1", .configuration = {}})
                    .argv,
                testing::Contains("--kill-on-bad-exit=0"));
    EXPECT_EQ(choose_backend(parse({"--backend", "ssh"}))->name(), "ssh");
    EXPECT_EQ(parse({"--launch-agent", "mine {host}"}).launch_agent, "mine {host}");
    EXPECT_EQ(choose_backend(parse({"--launch-agent", "mine {host}"}))->name(), "launch-agent");
}

// Its own hosts need no srun, unless it is asked for.
TEST_F(AllocationTest, OfThisHostAloneIsLocal) {
    install("srun");
    set("SLURM_JOB_ID", "4711");
    set("SLURM_JOB_NODELIST", host_name());
    set("SLURM_TASKS_PER_NODE", "2");
    EXPECT_EQ(choose_entry(parse()).name, "local");
    EXPECT_EQ(choose_entry(parse({"--backend", "slurm"})).name, "slurm");
    EXPECT_FALSE(
        choose_entry(parse({"--backend", "slurm"})).runs_elsewhere(parse({"--backend", "slurm"})));
}

TEST_F(AllocationTest, OfTheOthersGivesHostsAndSlots) {
    set("PBS_JOBID", "12.server");
    set("PBS_NODEFILE", file("n1\nn1\nn2\n"));
    EXPECT_THAT(parse().hosts, ElementsAre(Host{"n1", 2, 0}, Host{"n2", 1, 0}));
    EXPECT_EQ(parse().hosts_from, "PBS job 12.server (PBS_NODEFILE)");
    around_.variables.erase("PBS_NODEFILE");
    set("LSB_JOBID", "13");
    set("LSB_HOSTS", "a a b");
    EXPECT_THAT(parse().hosts, ElementsAre(Host{"a", 2, 0}, Host{"b", 1, 0}));
    set("LSB_MCPU_HOSTS", "c 3 d 1");
    EXPECT_THAT(parse().hosts, ElementsAre(Host{"c", 3, 0}, Host{"d", 1, 0}));
    EXPECT_EQ(parse().hosts_from, "LSF job 13 (LSB_MCPU_HOSTS)");
    around_.variables.erase("LSB_MCPU_HOSTS");
    around_.variables.erase("LSB_HOSTS");
    set("PE_HOSTFILE", file("e 4 q@e UNDEFINED\nf 2 q@f UNDEFINED\n"));
    EXPECT_THAT(parse().hosts, ElementsAre(Host{"e", 4, 0}, Host{"f", 2, 0}));
    EXPECT_EQ(parse().hosts_from, "Grid Engine (PE_HOSTFILE)");
}

TEST_F(AllocationTest, YieldsToWhatTheUserSays) {
    slurm();
    EXPECT_THAT(parse({"-H", "mine:3"}).hosts, ElementsAre(Host{"mine", 3, 0}));
    EXPECT_EQ(parse({"-H", "mine:3"}).hosts_from, "");
    EXPECT_THAT(parse({"--hostfile", file("other slots=2\n")}).hosts,
                ElementsAre(Host{"other", 2, 0}));
    EXPECT_THAT(parse({"--backend", "local"}).hosts, IsEmpty());
    EXPECT_THAT(parse({"--fake-nodes", "2"}).hosts, IsEmpty());
    set("SINEW_RUN_HOST", "third");
    EXPECT_THAT(parse().hosts, ElementsAre(Host{"third", 1, 0}));
    around_.variables.erase("SINEW_RUN_HOST");
    // The launcher of this rank has divided the hosts already.
    set("SINEW_RANK", "0");
    EXPECT_THAT(parse().hosts, IsEmpty());
}

TEST_F(AllocationTest, OfThisHostAloneNeedsNoConnection) {
    set("SLURM_JOB_NODELIST", host_name());
    set("SLURM_TASKS_PER_NODE", "3");
    auto const options = parse();
    EXPECT_EQ(choose_backend(options)->name(), "local");
    EXPECT_THAT(options.hosts, ElementsAre(Host{host_name(), 3, 0}));
}

TEST_F(AllocationTest, ThatCannotBeUnderstoodIsNotPassedOver) {
    slurm();
    set("SLURM_TASKS_PER_NODE", "2");
    EXPECT_THAT(refusal([&] { parse(); }),
                AllOf(HasSubstr("SLURM_TASKS_PER_NODE=2"), HasSubstr("-H")));
    EXPECT_THAT(parse({"--backend", "local"}).hosts, IsEmpty());
    set("SLURM_JOB_NODELIST", "-oProxyCommand=id");
    EXPECT_THAT(refusal([&] { parse(); }), HasSubstr("SLURM_JOB_NODELIST"));
    around_.variables.erase("SLURM_JOB_NODELIST");
    set("PBS_NODEFILE", "/nowhere/at/all");
    EXPECT_THAT(refusal([&] { parse(); }), HasSubstr("PBS_NODEFILE /nowhere/at/all"));
    set("PBS_NODEFILE", file(""));
    EXPECT_THAT(refusal([&] { parse(); }), HasSubstr("PBS_NODEFILE="));
}

TEST(HostNames, AreOfOneHostWithAndWithoutDomain) {
    EXPECT_TRUE(is_same_host("n1", "n1"));
    EXPECT_TRUE(is_same_host("n1", "n1.site.org"));
    EXPECT_TRUE(is_same_host("n1.site.org", "n1"));
    for (auto const* other : {"n", "n10", "n1-ib", "n1x.site", "", "n2.site.org"})
        EXPECT_FALSE(is_same_host("n1", other)) << other;
    EXPECT_FALSE(is_same_host("n1.site", "n1.site.org"));
    EXPECT_FALSE(is_same_host("10", "10.0.0.1"));
    EXPECT_FALSE(is_same_host("", "."));
}

}  // namespace
}  // namespace sinew::launch
