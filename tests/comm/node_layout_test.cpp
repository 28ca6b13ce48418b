// SPDX-License-Identifier: Apache-2.0
#include "src/comm/node_layout.hpp"

#include <gmock/gmock.h>

#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

using testing::ElementsAre;

/// The identities of ranks whose nodes are named by one letter each.
std::vector<NodeIdentity> on(std::string const& letters) {
    std::vector<NodeIdentity> identities;
    for (char const letter : letters)
        identities.push_back(
            NodeIdentity::named(std::string("key-") + letter, std::string("host-") + letter));
    return identities;
}

TEST(NodeLayout, NumbersNodesByTheirLowestRank) {
    NodeLayout const layout = detail::make_node_layout(on("bbacab"), 4);
    EXPECT_THAT(layout.node_of, ElementsAre(0, 0, 1, 2, 1, 0));
    EXPECT_THAT(layout.hosts, ElementsAre("host-b", "host-a", "host-c"));
    EXPECT_EQ(layout.nodes(), 3);
    EXPECT_EQ(layout.node, 1);
    EXPECT_EQ(layout.local_rank, 1);
    EXPECT_EQ(layout.local_size, 2);
    EXPECT_EQ(layout.host_of(3), "host-c");
}

TEST(NodeLayout, TellsNodesApartByTheirKeysNotTheirHosts) {
    std::vector<NodeIdentity> const twins{NodeIdentity::named("one", "same"),
                                          NodeIdentity::named("two", "same")};
    EXPECT_EQ(detail::make_node_layout(twins, 0).nodes(), 2);
}

TEST(NodeLayout, OfOneRank) {
    NodeLayout const layout = detail::make_node_layout(on("a"), 0);
    EXPECT_EQ(layout.nodes(), 1);
    EXPECT_EQ(layout.local_size, 1);
}

TEST(NodeLayout, OfAPartIsNumberedAnew) {
    NodeLayout const whole = detail::make_node_layout(on("aabbcc"), 5);
    NodeLayout const part = detail::restrict_node_layout(whole, std::vector{5, 1, 4, 0}, 0);
    EXPECT_THAT(part.node_of, ElementsAre(0, 1, 0, 1));
    EXPECT_THAT(part.hosts, ElementsAre("host-c", "host-a"));
    EXPECT_EQ(part.local_rank, 0);
    EXPECT_EQ(part.local_size, 2);
}

TEST(NodeIdentity, IsThisHostsUnlessNamed) {
    NodeIdentity const mine = NodeIdentity::mine();
    EXPECT_EQ(mine.key_text(), NodeIdentity::mine().key_text());
    EXPECT_FALSE(mine.host_text().empty());
    Variable const name("SINEW_NODE_NAME", "node-7");
    EXPECT_EQ(NodeIdentity::mine().key_text(), "node-7");
    EXPECT_EQ(NodeIdentity::mine().host_text(), "node-7");
}

TEST(NodeIdentity, CutsNamesThatAreTooLong) {
    NodeIdentity const identity =
        NodeIdentity::named(std::string(1000, 'k'), std::string(1000, 'h'));
    EXPECT_EQ(identity.key_text(), std::string(191, 'k'));
    EXPECT_EQ(identity.host_text(), std::string(63, 'h'));
}

}  // namespace
}  // namespace sinew::tests
