// SPDX-License-Identifier: Apache-2.0
#include "launchers/pmi/pmix_info.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <sinew/error.hpp>

namespace sinew::launch {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

PmixJob job() {
    PmixJob job;
    job.name = "sinew-1-0";
    job.nodes = {"a", "b", "c"};
    job.node_of_rank = {0, 0, 0, 1, 2, 2};
    job.app_of_rank = {0, 0, 1, 1, 1, 1};
    job.argv_of_app = {{"./one", "-x"}, {"./two"}};
    job.folder_of_app = {"/w1", "/w2"};
    job.node = 2;
    job.cpuset_of_local_rank = {"0-3", ""};
    job.folder = "/dev/shm/j";
    job.universe = 8;
    job.restart = 2;
    return job;
}

PmixDerived const derived{{"nodes"}, {"ranks"}, {"CR0", ""}};

template <class Value>
Value value_of(PmixItems const& items, std::string const& key) {
    auto const found =
        std::find_if(items.begin(), items.end(), [&](auto const& item) { return item.key == key; });
    if (found == items.end()) throw std::runtime_error("no " + key);
    return std::get<Value>(found->value);
}

bool has(PmixItems const& items, std::string const& key) {
    return std::any_of(items.begin(), items.end(),
                       [&](auto const& item) { return item.key == key; });
}

std::vector<PmixItems> arrays(PmixItems const& items, std::string const& key) {
    std::vector<PmixItems> found;
    for (auto const& item : items)
        if (item.key == key) found.push_back(std::get<PmixItems>(item.value));
    return found;
}

TEST(PmixInfo, ListsNodesAndRanksAsTheLibraryPacksThem) {
    EXPECT_EQ(node_list(job()), "a,b,c");
    EXPECT_EQ(rank_list(job()), "0,1,2;3;4,5");
    EXPECT_THAT(ranks_on_node(job(), 2), ElementsAre(4, 5));
}

TEST(PmixInfo, KnowsWhichNamesTheLibraryCannotPack) {
    auto named = job();
    EXPECT_TRUE(packs_well(named));
    for (auto const* good : {"node001", "ip-10-0-0-1", "a.b.example.org", "7", "n123456789"}) {
        named.nodes[1] = good;
        EXPECT_TRUE(packs_well(named)) << good;
    }
    for (auto const& bad : {std::string(50, 'a'), std::string(63, 'a') + "-1",
                            std::string(50, 'x') + "1", std::string("n1234567890")}) {
        named.nodes[1] = bad;
        EXPECT_FALSE(packs_well(named)) << bad;
    }
}

TEST(PmixInfo, HasTheSizesOfJobNodeAndUniverse) {
    auto const items = job_info(job(), derived);
    EXPECT_EQ(value_of<std::uint32_t>(items, PMIX_JOB_SIZE), 6U);
    EXPECT_EQ(value_of<std::uint32_t>(items, PMIX_UNIV_SIZE), 8U);
    EXPECT_EQ(value_of<std::uint32_t>(items, PMIX_MAX_PROCS), 8U);
    EXPECT_EQ(value_of<std::uint32_t>(items, PMIX_NUM_NODES), 3U);
    EXPECT_EQ(value_of<std::uint32_t>(items, PMIX_LOCAL_SIZE), 2U);
    EXPECT_EQ(value_of<std::uint32_t>(items, PMIX_JOB_NUM_APPS), 2U);
    EXPECT_EQ(value_of<std::string>(items, PMIX_LOCAL_PEERS), "4,5");
    EXPECT_EQ(value_of<PmixRank>(items, PMIX_LOCALLDR), PmixRank{4});
    EXPECT_EQ(value_of<PmixPacked>(items, PMIX_NODE_MAP), PmixPacked{"nodes"});
}

// An entry without its local or node rank makes MPI_Init fail; a missing entry does not.
TEST(PmixInfo, HasACompleteEntryForEachRankOfTheJob) {
    auto const ranks = arrays(job_info(job(), derived), PMIX_PROC_DATA);
    ASSERT_EQ(ranks.size(), 6U);
    std::vector<int> local_ranks, node_ids, app_ranks;
    for (auto const& entry : ranks) {
        local_ranks.push_back(value_of<std::uint16_t>(entry, PMIX_LOCAL_RANK));
        EXPECT_EQ(value_of<std::uint16_t>(entry, PMIX_NODE_RANK), local_ranks.back());
        node_ids.push_back(static_cast<int>(value_of<std::uint32_t>(entry, PMIX_NODEID)));
        app_ranks.push_back(static_cast<int>(value_of<PmixRank>(entry, PMIX_APP_RANK).value));
        EXPECT_EQ(value_of<std::uint32_t>(entry, PMIX_REINCARNATION), 2U);
    }
    EXPECT_THAT(local_ranks, ElementsAre(0, 1, 2, 0, 0, 1));
    EXPECT_THAT(node_ids, ElementsAre(0, 0, 0, 1, 2, 2));
    EXPECT_THAT(app_ranks, ElementsAre(0, 1, 0, 1, 2, 3));
    EXPECT_EQ(value_of<std::string>(ranks[3], PMIX_HOSTNAME), "b");
}

TEST(PmixInfo, TellsWhereLocalRanksAreBoundAndMayWrite) {
    auto const ranks = arrays(job_info(job(), derived), PMIX_PROC_DATA);
    EXPECT_EQ(value_of<std::string>(ranks[4], PMIX_CPUSET), "hwloc:0-3");
    EXPECT_EQ(value_of<std::string>(ranks[4], PMIX_LOCALITY_STRING), "CR0");
    EXPECT_EQ(value_of<std::string>(ranks[4], PMIX_PROCDIR), "/dev/shm/j/ompi/sinew-1-0/4");
    EXPECT_FALSE(has(ranks[5], PMIX_CPUSET));
    EXPECT_FALSE(has(ranks[0], PMIX_PROCDIR));
}

TEST(PmixInfo, DescribesEachApplication) {
    auto const apps = arrays(job_info(job(), derived), PMIX_APP_INFO_ARRAY);
    ASSERT_EQ(apps.size(), 2U);
    EXPECT_EQ(value_of<std::string>(apps[0], PMIX_APP_ARGV), "./one -x");
    EXPECT_EQ(value_of<std::string>(apps[1], PMIX_WDIR), "/w2");
    EXPECT_EQ(value_of<std::uint32_t>(apps[1], PMIX_APP_SIZE), 4U);
    EXPECT_EQ(value_of<PmixRank>(apps[1], PMIX_APPLDR), PmixRank{2});
}

TEST(PmixInfo, BecomesTheLibrarysForm) {
    PmixInfos infos({{"flag", true},
                     {"rank", PmixRank{7}},
                     {"words", "some"},
                     {"packed", PmixPacked{std::string("a\0b", 3)}},
                     {"inner", PmixItems{{"size", std::uint16_t{9}}}}});
    ASSERT_EQ(infos.size(), 5U);
    EXPECT_STREQ(infos.data()[1].key, "rank");
    EXPECT_EQ(infos.data()[1].value.type, PMIX_PROC_RANK);
    EXPECT_EQ(infos.data()[1].value.data.rank, 7U);
    EXPECT_STREQ(infos.data()[2].value.data.string, "some");
    EXPECT_EQ(infos.data()[3].value.data.bo.size, 3U);
    auto const* inner = infos.data()[4].value.data.darray;
    ASSERT_EQ(inner->size, 1U);
    EXPECT_EQ(static_cast<pmix_info_t*>(inner->array)[0].value.data.uint16, 9);
}

void expect_refused(PmixJob const& wrong, std::string const& why) {
    EXPECT_THAT([&] { check_job(wrong); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("sinew-1-0"), HasSubstr(why))));
}

// Ranks on two nodes of the same name would be wrong about sharing memory.
TEST(PmixInfo, RefusesNodesOfOneName) {
    auto wrong = job();
    wrong.nodes[2] = "a";
    expect_refused(wrong, "'a' is empty or occurs twice");
}

TEST(PmixInfo, RefusesIndicesOutOfRange) {
    auto wrong = job();
    wrong.node_of_rank[1] = 3;
    expect_refused(wrong, "node 3 of 3");
    wrong = job();
    wrong.app_of_rank[1] = 2;
    expect_refused(wrong, "application 2 of 2");
    wrong = job();
    wrong.node = 3;
    expect_refused(wrong, "node 3 of 3");
    wrong = job();
    wrong.node_of_rank = {0, 0, 0, 0, 2, 2};
    expect_refused(wrong, "without ranks");
}

}  // namespace
}  // namespace sinew::launch
