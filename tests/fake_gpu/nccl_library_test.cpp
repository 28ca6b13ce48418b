// SPDX-License-Identifier: Apache-2.0
// How NCCL is found, what of it is used by version, and what is said where it or its start fails.
#include <dlfcn.h>

#include "collectives/nccl/diagnosis.hpp"
#include "collectives/nccl/types.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/fake_gpu/fake_gpu.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::tests {
namespace {

namespace nccl = collectives::nccl;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(NcclLibrary, IsTheOneThatTheVariableNames) {
    Variable const named("SINEW_NCCL_LIBRARY", FAKE_NCCL);
    EXPECT_EQ(nccl::Library::find().version_text(), "2.28.9");
    EXPECT_EQ(nccl::Library::find().path(), FAKE_NCCL);
    Variable const missing("SINEW_NCCL_LIBRARY", "/nowhere/libnccl.so.2");
    EXPECT_THAT(thrown_by<Unavailable>([] { nccl::Library::find(); }),
                AllOf(HasSubstr("SINEW_NCCL_LIBRARY=/nowhere"), HasSubstr("No such file")));
    Variable const other("SINEW_NCCL_LIBRARY", "libm.so.6");
    EXPECT_THAT(thrown_by<Unavailable>([] { nccl::Library::find(); }),
                HasSubstr("no ncclGetVersion"));
}

TEST(NcclLibrary, OffersWhatItsVersionHas) {
    Variable const named("SINEW_NCCL_LIBRARY", FAKE_NCCL);
    fake_nccl_version(22809);
    EXPECT_TRUE(nccl::Library::find().has_revoke());
    EXPECT_TRUE(nccl::Library::find().has_all_to_all());
    fake_nccl_version(22805);
    EXPECT_FALSE(nccl::Library::find().has_revoke());
    fake_nccl_version(21903);
    EXPECT_FALSE(nccl::Library::find().has_all_to_all());
    fake_nccl_version(21003);
    EXPECT_THAT(thrown_by<Unavailable>([] { nccl::Library::find(); }),
                AllOf(HasSubstr("2.10.3"), HasSubstr("2.14 or later")));
    fake_nccl_version(22809);
    EXPECT_EQ(nccl::Library::version_text(2708), "2.7.8");
}

TEST(NcclLibrary, IsFoundInPythonsPackages) {
    testing_support::TempFolder const root;
    auto const folder = root.path() / "home/me/.local/lib/python3.12/site-packages/nvidia/nccl/lib";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "libnccl.so.2") << "not a library";
    Variable const home("HOME", "/home/me"), none("SINEW_NCCL_LIBRARY", nullptr);
    auto const found = nccl::Library::python_packages(root.path());
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found.front(), (folder / "libnccl.so.2").string());
}

nccl::RankFacts facts_of(char const* host, unsigned char gpu) {
    nccl::RankFacts facts;
    facts.nccl_version = 22809;
    facts.driver_version = 13000;
    facts.device = gpu;
    facts.uuid[0] = gpu;
    facts.boot = static_cast<unsigned char>(host[0]);
    facts.shm_free = std::uint64_t{1} << 30;
    std::strcpy(facts.host, host);
    std::strcpy(facts.interfaces, "eth0,ib0");
    return facts;
}

TEST(Obstacle, IsNamedWithRanksAndHosts) {
    std::vector<nccl::RankFacts> ranks{facts_of("a", 0), facts_of("a", 1), facts_of("b", 0)};
    EXPECT_EQ(nccl::obstacle(ranks), "");
    ranks[1].uuid = ranks[0].uuid;
    EXPECT_THAT(nccl::obstacle(ranks), HasSubstr("ranks 0 and 1 on a use the same GPU"));
    std::strcpy(ranks[0].host_id, "r0");  // what tests on one GPU do
    std::strcpy(ranks[1].host_id, "r1");
    EXPECT_EQ(nccl::obstacle(ranks), "");
    ranks[2].nccl_version = 22203;
    EXPECT_THAT(nccl::obstacle(ranks),
                AllOf(HasSubstr("2.28.9 on rank 0 on a"), HasSubstr("2.22.3 on rank 2 on b")));
    ranks[1].nccl_version = 0;
    std::strcpy(ranks[1].why, "NCCL was not found");
    EXPECT_THAT(nccl::obstacle(ranks), HasSubstr("rank 1 on a: NCCL was not found"));
    ranks[0].wish = nccl::RankFacts::Wish::off;
    EXPECT_THAT(nccl::obstacle(ranks), HasSubstr("SINEW_NCCL=0 on rank 0 on a"));
}

std::string explained(std::vector<nccl::RankFacts> const& ranks, char const* words,
                      bool stuck = false) {
    std::vector<nccl::Outcome> outcomes(ranks.size());
    outcomes[1].state = stuck ? nccl::Outcome::State::stuck : nccl::Outcome::State::failed;
    std::strcpy(outcomes[1].words, words);
    return nccl::explain_failed_start(ranks, outcomes);
}

TEST(FailedStart, HasTheOneLikelyCause) {
    std::vector<nccl::RankFacts> ranks{facts_of("a", 0), facts_of("a", 1), facts_of("b", 0)};
    EXPECT_EQ(nccl::explain_failed_start(ranks, std::vector<nccl::Outcome>(3)), "");
    EXPECT_THAT(explained(ranks, "CUDA driver version is insufficient for CUDA runtime version"),
                HasSubstr("driver (CUDA 13.0 on rank 0) is older"));
    EXPECT_THAT(explained(ranks, "Call to connect returned Connection refused"),
                AllOf(HasSubstr("rank 1 on a: Call to connect"), HasSubstr("NCCL_SOCKET_IFNAME")));
    EXPECT_THAT(
        explained(ranks, "", true),
        AllOf(HasSubstr("still inside NCCL's initialisation: rank 1 on a"), HasSubstr("eth0,ib0")));
    EXPECT_THAT(explained(ranks, "Cuda failure 'out of memory'"),
                HasSubstr("too little free memory"));
    EXPECT_THAT(explained(ranks, "something new"), HasSubstr("NCCL_DEBUG=INFO"));
    ranks[1].shm_free = std::uint64_t{60} << 20;
    EXPECT_THAT(explained(ranks, "Error while creating shared memory segment /dev/shm/nccl-x"),
                AllOf(HasSubstr("only 60 MiB free for 2 ranks"), HasSubstr("--shm-size")));
}

TEST(FailedStart, ShowsWhatNcclHasLogged) {
    testing_support::TempFolder const folder;
    auto const file = folder.path() / ("log." + std::to_string(::getpid()));
    std::ofstream(file) << "x [0] NCCL INFO Bootstrap\nx [0] NCCL WARN Call to bind failed\n";
    Variable const log("NCCL_DEBUG_FILE", (folder.path() / "log.%p").c_str());
    EXPECT_EQ(nccl::captured_warnings(), "Call to bind failed");
    Variable const none("NCCL_DEBUG_FILE", nullptr);
    EXPECT_EQ(nccl::captured_warnings(), "");
}

TEST(NcclTypes, AreThoseThatNcclReduces) {
    using Kind = DataType::Kind;
    EXPECT_EQ(nccl::reduction(Kind::f32, sum)->type, nccl::type_f32);
    EXPECT_EQ(nccl::reduction(Kind::c128, sum)->per_element, 2U);
    EXPECT_TRUE(nccl::reduction(Kind::bf16, average)->averages);
    EXPECT_FALSE(nccl::reduction(Kind::c64, prod));
    EXPECT_FALSE(nccl::reduction(Kind::i16, sum));
    EXPECT_FALSE(nccl::reduction(Kind::i32, bit_or));
    EXPECT_FALSE(nccl::reduction(Kind::f32_index, minloc));
    EXPECT_FALSE(nccl::reduction(Kind::i32, average));
    EXPECT_EQ(nccl::reduction(Kind::u64, max)->op, nccl::op_max);
}

}  // namespace
}  // namespace sinew::tests
