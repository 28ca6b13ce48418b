// SPDX-License-Identifier: Apache-2.0
#include "launchers/pmi/mpi_environment.hpp"

#include <gmock/gmock.h>

namespace sinew::launch {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

using Environment = std::map<std::string, std::string>;

Environment scrubbed(Environment environment) {
    scrub(environment);
    return environment;
}

TEST(Scrub, DropsWhatAnOuterLauncherSaidAboutItsOwnProcess) {
    EXPECT_THAT(scrubbed({{"PMIX_RANK", "3"},
                          {"PMIX_NAMESPACE", "outer"},
                          {"PMIX_SERVER_URI2", "x;tcp4://127.0.0.1:1"},
                          {"PMI_FD", "7"},
                          {"PMI_RANK", "1"},
                          {"HYDI_CONTROL_FD", "9"},
                          {"MPI_LOCALNRANKS", "2"},
                          {"OMPI_COMM_WORLD_RANK", "3"},
                          {"OMPI_UNIVERSE_SIZE", "4"},
                          {"OMPI_MCA_ess_base_jobid", "17"},
                          {"OMPI_MCA_orte_ess_num_procs", "4"},
                          {"OMPI_MCA_orte_local_daemon_uri", "u"},
                          {"SLURM_NODELIST", "a,b"},
                          {"SLURM_JOBID", "12"},
                          {"SLURM_PROCID", "0"},
                          {"SLURM_NTASKS", "1"},
                          {"FLUX_JOB_ID", "f1"}}),
                IsEmpty());
}

TEST(Scrub, KeepsWhatTheUserChose) {
    Environment const chosen{{"PATH", "/bin"},
                             {"OMPI_MCA_btl", "self,tcp"},
                             {"OMPI_MCA_pmix_base_async_modex", "1"},
                             {"OMPI_MCA_ess", "pmi"},
                             {"OMPI_MCA_orte_tmpdir_base", "/scratch"},
                             {"PMIX_MCA_gds", "hash"},
                             {"SLURM_JOB_ID", "12"},
                             {"SLURM_ARRAY_TASK_ID", "3"},
                             {"PMIXER", "x"}};
    EXPECT_EQ(scrubbed(chosen), chosen);
}

TEST(Scrub, TakesAmbiguousSettingsInsideMpirunForItsOwn) {
    EXPECT_THAT(scrubbed({{"OMPI_MCA_orte_hnp_uri", "u"},
                          {"OMPI_MCA_ess", "^singleton"},
                          {"OMPI_MCA_pmix", "^s1,s2,cray,isolated"},
                          {"OMPI_MCA_orte_tmpdir_base", "/tmp"},
                          {"OMPI_MCA_btl", "self,tcp"}}),
                ElementsAre(Key("OMPI_MCA_btl")));
}

TEST(Scrub, DropsTheDefaultsOfAnOuterJobOfOursButNotWhatItsRankChanged) {
    Environment outer;
    for (auto const& word : mpi_environment({.folder = "/dev/shm/outer"}))
        outer[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    outer["OMPI_MCA_btl_vader_backing_directory"] = "/mine";
    EXPECT_THAT(scrubbed(outer),
                ElementsAre(Pair("OMPI_MCA_btl_vader_backing_directory", "/mine")));
}

TEST(MpiEnvironment, KeepsOpenMpiFromStartingWorldsOfOne) {
    EXPECT_THAT(mpi_environment({.folder = "/f"}),
                Contains("OMPI_MCA_schizo=^orte,slurm,flux,jsm"));
}

TEST(MpiEnvironment, KeepsAddressesInPlainTablesWhereTheyAreFetchedOneByOne) {
    EXPECT_THAT(mpi_environment({.folder = "/f"}, {{"OMPI_MCA_pmix_base_async_modex", "1"}}),
                Contains("PMIX_MCA_gds=hash"));
    EXPECT_THAT(mpi_environment({.folder = "/f"}), Not(Contains("PMIX_MCA_gds=hash")));
}

TEST(MpiEnvironment, KeepsPmixOutOfSharedMemoryThatIsNearlyFull) {
    EXPECT_THAT(mpi_environment({.folder = "/f", .little_room = true}),
                Contains("PMIX_MCA_gds=hash"));
}

TEST(MpiEnvironment, PutsEverySharedSegmentIntoTheFolder) {
    auto const words = mpi_environment({.folder = "/f"});
    for (auto const* name :
         {"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_osc_sm_backing_directory",
          "OMPI_MCA_osc_rdma_backing_directory", "UCX_POSIX_DIR"})
        EXPECT_THAT(words, Contains(std::string(name) + "=/f"));
}

TEST(MpiEnvironment, YieldsOnlyWhenRanksShareCores) {
    std::string const yield = "OMPI_MCA_mpi_yield_when_idle=1";
    EXPECT_THAT(mpi_environment({.folder = "/f", .oversubscribed = true}), Contains(yield));
    EXPECT_THAT(mpi_environment({.folder = "/f"}), Not(Contains(yield)));
}

TEST(MpiEnvironment, NamesTheInterfaceUnlessTheUserNamedOnesToAvoid) {
    MpiSettings const settings{.folder = "/f", .interface = "10.0.0.0/8"};
    EXPECT_THAT(mpi_environment(settings), Contains("OMPI_MCA_btl_tcp_if_include=10.0.0.0/8"));
    EXPECT_THAT(mpi_environment(settings, {{"OMPI_MCA_btl_tcp_if_exclude", "eth1"}}),
                Each(Not(StartsWith("OMPI_MCA_btl_tcp_if_include"))));
    EXPECT_THAT(mpi_environment({.folder = "/f"}), Each(Not(HasSubstr("tcp_if"))));
}

TEST(MpiEnvironment, SaysToMpichWhichOfTwoServersToUse) {
    EXPECT_THAT(mpi_environment({.folder = "/f", .both_pmis = true}),
                Contains("MPIR_CVAR_PMI_VERSION=1"));
}

}  // namespace
}  // namespace sinew::launch
