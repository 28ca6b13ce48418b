// SPDX-License-Identifier: Apache-2.0
#include "src/comm/processors.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "src/base/text.hpp"

namespace sinew::detail {
namespace {

using testing::ElementsAre;

Processors bound_to(std::initializer_list<int> processors, double quota = 0,
                    std::uint64_t quota_group = 0) {
    Processors one;
    CPU_ZERO(&one.allowed);
    for (int const processor : processors)
        CPU_SET(static_cast<std::size_t>(processor), &one.allowed);
    one.quota = quota;
    one.quota_group = quota_group;
    return one;
}

NodeLayout nodes_of(std::vector<int> node_of) {
    NodeLayout layout;
    layout.hosts.resize(
        static_cast<std::size_t>(*std::max_element(node_of.begin(), node_of.end()) + 1));
    layout.node_of = std::move(node_of);
    return layout;
}

TEST(CrowdedNodes, HaveMoreRanksThanProcessors) {
    std::vector<Processors> const ranks{bound_to({0, 1}), bound_to({0, 1}), bound_to({0, 1}),
                                        bound_to({0}),    bound_to({1}),    bound_to({2})};
    EXPECT_THAT(crowded_nodes(ranks, nodes_of({0, 0, 0, 1, 1, 1})), ElementsAre(1, 0));
}

TEST(CrowdedNodes, HaveMoreRanksThanTheirQuotaAllows) {
    auto const wide = [](double quota, std::uint64_t group) {
        return bound_to({0, 1, 2, 3, 4, 5, 6, 7}, quota, group);
    };
    // Four ranks in a pod that is limited to two of eight processors.
    EXPECT_THAT(crowded_nodes(std::vector<Processors>(4, wide(2, 1)), nodes_of({0, 0, 0, 0})),
                ElementsAre(1));
    EXPECT_THAT(crowded_nodes(std::vector<Processors>(4, wide(4, 1)), nodes_of({0, 0, 0, 0})),
                ElementsAre(0));
    EXPECT_THAT(crowded_nodes(std::vector<Processors>(4, wide(3.5, 1)), nodes_of({0, 0, 0, 0})),
                ElementsAre(1));
    // Two nodes; and one node on which each rank has a separate quota.
    EXPECT_THAT(crowded_nodes(std::vector<Processors>(4, wide(2, 1)), nodes_of({0, 0, 1, 1})),
                ElementsAre(0, 0));
    EXPECT_THAT(crowded_nodes(std::vector{wide(1, 1), wide(1, 2), wide(1, 3)}, nodes_of({0, 0, 0})),
                ElementsAre(0));
    EXPECT_THAT(crowded_nodes(std::vector{wide(0.5, 1), wide(0, 0)}, nodes_of({0, 0})),
                ElementsAre(1));
}

TEST(CrowdedNodes, AreNotThoseThatCannotTell) {
    EXPECT_THAT(crowded_nodes(std::vector<Processors>(3, bound_to({})), nodes_of({0, 0, 0})),
                ElementsAre(0));
}

TEST(Processors, OfThisProcessHaveItsQuota) {
    std::filesystem::path const root = testing::TempDir() + text("sinew-processors-", ::getpid());
    auto const file = [&](std::string const& path, std::string const& content) {
        std::filesystem::create_directories((root / path).parent_path());
        std::ofstream(root / path) << content << '\n';
    };
    file("proc/self/cgroup", "0::/pod/one");
    file("sys/fs/cgroup/pod/cpu.max", "150000 100000");
    Processors const one = Processors::mine(root);
    EXPECT_EQ(one.quota, 1.5);
    EXPECT_GT(CPU_COUNT(&one.allowed), 0);
    // Another cgroup below the one that sets the limit: the limit is shared.
    file("proc/self/cgroup", "0::/pod/two");
    EXPECT_EQ(Processors::mine(root).quota_group, one.quota_group);
    file("sys/fs/cgroup/pod/two/cpu.max", "50000 100000");
    EXPECT_NE(Processors::mine(root).quota_group, one.quota_group);
    std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace sinew::detail
