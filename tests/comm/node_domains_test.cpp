// SPDX-License-Identifier: Apache-2.0
#include "src/comm/node_domains.hpp"

#include <gmock/gmock.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <vector>

#include <sinew/error.hpp>

#include "src/world/processor_groups.hpp"
#include "tests/comm/ranks.hpp"

namespace sinew::detail {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int> processors(int first, int count) {
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), first);
    return all;
}

/// The domains of ranks on this machine, each with the processors that it may use.
NodeDomains domains_on(ProcessorGroups const& groups, std::vector<std::vector<int>> const& ranks,
                       DomainLevel level = DomainLevel::automatic) {
    std::vector<Locality> localities;
    for (auto const& rank : ranks) localities.push_back(Locality::of(groups, rank));
    return node_domains(localities, level);
}

std::vector<std::vector<int>> bound_to(std::vector<int> const& cpus) {
    std::vector<std::vector<int>> ranks;
    for (int const cpu : cpus) ranks.push_back({cpu});
    return ranks;
}

TEST(NodeDomains, HaveOneOfTheFourNames) {
    for (auto const* word : {"auto", "off", "numa", "l3"})
        EXPECT_EQ(name_of(domain_level(word)), word);
    try {
        domain_level("socket");
        FAIL();
    } catch (UsageError const& error) {
        EXPECT_STREQ(error.what(), "SINEW_NODE_DOMAINS=socket (must be auto, off, numa or l3)");
    }
}

#if SINEW_HAVE_HWLOC
/// Processors as hwloc describes them by a synthetic topology.
class SyntheticDomains : public testing::Test {
protected:
    static ProcessorGroups machine(char const* description) {
        tests::Variable const synthetic("HWLOC_SYNTHETIC", description);
        return processor_groups(std::vector{0});
    }
};

TEST_F(SyntheticDomains, AreTheGroupsThatHwlocShows) {
    auto const groups = machine("numa:2 l3:2 core:4 pu:1");
    EXPECT_THAT(groups.numa, ElementsAre(processors(0, 8), processors(8, 8)));
    EXPECT_THAT(groups.l3, ElementsAre(processors(0, 4), processors(4, 4), processors(8, 4),
                                       processors(12, 4)));
}

TEST_F(SyntheticDomains, AreOneOnAMachineOfOneGroup) {
    auto const groups = machine("numa:1 l3:1 core:4 pu:1");
    for (auto const level : {DomainLevel::automatic, DomainLevel::numa, DomainLevel::l3}) {
        auto const found = domains_on(groups, bound_to({0, 1, 2, 3}), level);
        EXPECT_EQ(found.domains.count(), 1);
        EXPECT_THAT(found.text, HasSubstr("none (the ranks of the node "));
    }
}

TEST_F(SyntheticDomains, AreNumaNodesFirst) {
    auto const groups = machine("numa:2 l3:2 core:2 pu:1");
    auto const ranks = bound_to(processors(0, 8));
    auto const by_numa = domains_on(groups, ranks);
    EXPECT_EQ(by_numa.text, "2 NUMA nodes with 4+4 ranks");
    EXPECT_FALSE(by_numa.domains.always());
    EXPECT_TRUE(domains_on(groups, ranks, DomainLevel::numa).domains.always());
    auto const by_cache = domains_on(groups, ranks, DomainLevel::l3);
    EXPECT_EQ(by_cache.text, "4 third-level caches with 2+2+2+2 ranks");
    auto const off = domains_on(groups, ranks, DomainLevel::off);
    EXPECT_EQ(off.domains.count(), 1);
    EXPECT_THAT(off.text, HasSubstr("SINEW_NODE_DOMAINS=off"));
}

TEST_F(SyntheticDomains, AreCachesWithinOneNumaNode) {
    auto const groups = machine("numa:1 l3:4 core:4 pu:1");
    EXPECT_EQ(domains_on(groups, bound_to(processors(0, 16))).text,
              "4 third-level caches with 4+4+4+4 ranks");
}

TEST_F(SyntheticDomains, MayHaveTheirRanksApart) {
    auto const found = domains_on(machine("numa:2 core:4 pu:1"), bound_to({0, 4, 1, 5}));
    EXPECT_EQ(found.text, "2 NUMA nodes with 2+2 ranks");
    EXPECT_FALSE(found.domains.are_ranges());
}

TEST_F(SyntheticDomains, MayDifferInSize) {
    auto const groups = machine("numa:2 core:4 pu:1");
    EXPECT_EQ(domains_on(groups, bound_to({0, 1, 2, 4, 5})).text, "2 NUMA nodes with 3+2 ranks");
    auto const lonely = domains_on(groups, bound_to({0, 1, 2, 4}));
    EXPECT_EQ(lonely.domains.count(), 1);
    EXPECT_EQ(lonely.text, "none (fewer than two NUMA nodes have several ranks: 3+1)");
}

TEST_F(SyntheticDomains, AreNotKnownOfARankThatMayRunInSeveral) {
    auto const groups = machine("numa:2 core:4 pu:1");
    auto const found = domains_on(groups, {{0}, {1}, processors(0, 8), {4}});
    EXPECT_EQ(found.domains.count(), 1);
    EXPECT_EQ(found.text,
              "none (rank 2 of the node may run in several NUMA nodes. Bind each rank to one)");
    EXPECT_EQ(domains_on(groups, {processors(0, 4), {1}, processors(4, 4), {4}}).domains.count(),
              2);
}

// A rank whose hwloc was told something else.
TEST_F(SyntheticDomains, AreOneIfTheRanksSeeDifferentMachines) {
    auto const one = machine("numa:2 core:4 pu:1"), other = machine("numa:4 core:2 pu:1");
    std::vector<Locality> ranks;
    for (int const cpu : {0, 1, 4, 5}) ranks.push_back(Locality::of(one, std::vector{cpu}));
    ranks.back() = Locality::of(other, std::vector{5});
    auto const found = node_domains(ranks, DomainLevel::automatic);
    EXPECT_EQ(found.domains.count(), 1);
    EXPECT_THAT(found.text, HasSubstr("rank 3 of the node sees other NUMA nodes"));
}
#endif

/// A folder that looks like /sys of a machine with two NUMA nodes, of two caches each.
class ListedProcessors : public testing::Test {
protected:
    ListedProcessors() {
        write("sys/devices/system/node/online", "0-2");
        write("sys/devices/system/node/node0/cpulist", "0-3");
        write("sys/devices/system/node/node1/cpulist", "4-7");
        write("sys/devices/system/node/node2/cpulist", "");  // memory alone
        for (int cpu = 0; cpu < 8; ++cpu) {
            std::string const cache =
                "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index";
            write(cache + "0/level", "1");
            write(cache + "1/level", "3");
            int const first = cpu / 2 * 2;
            write(cache + "1/shared_cpu_list",
                  std::to_string(first) + "," + std::to_string(first + 1));
        }
    }
    ~ListedProcessors() override { std::filesystem::remove_all(root_); }

    std::filesystem::path root_ =
        std::filesystem::temp_directory_path() / ("sinew_domains_" + std::to_string(::getpid()));

private:
    void write(std::string const& path, std::string const& line) {
        auto const file = root_ / path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << line << '\n';
    }
};

TEST_F(ListedProcessors, AreGroupedWithoutHwloc) {
    auto const of_one = processor_groups_of_kernel(std::vector{5}, root_.string());
    EXPECT_THAT(of_one.numa, ElementsAre(processors(0, 4), processors(4, 4)));
    EXPECT_THAT(of_one.l3, ElementsAre(processors(4, 2)));
    auto const of_all = processor_groups_of_kernel(processors(0, 8), root_.string());
    EXPECT_EQ(of_all.l3.size(), 4u);
    EXPECT_EQ(domains_on(of_all, bound_to({0, 1, 4, 5})).text, "2 NUMA nodes with 2+2 ranks");
    EXPECT_EQ(Locality::of(of_all, std::vector{5}).l3, Locality::of(of_one, std::vector{5}).l3);
}

TEST_F(ListedProcessors, AreUnknownWhereNothingIsListed) {
    auto const groups = processor_groups_of_kernel(processors(0, 2), (root_ / "no").string());
    EXPECT_TRUE(groups.numa.empty());
    EXPECT_TRUE(groups.l3.empty());
    EXPECT_THAT(domains_on(groups, bound_to({0, 1})).text, HasSubstr("it is not known"));
}

TEST(CpuList, EndsWhereItIsNone) {
    EXPECT_THAT(parse_cpu_list("0-2,5"), ElementsAre(0, 1, 2, 5));
    EXPECT_THAT(parse_cpu_list(""), ElementsAre());
    EXPECT_THAT(parse_cpu_list("3,x"), ElementsAre(3));
}

}  // namespace
}  // namespace sinew::detail
