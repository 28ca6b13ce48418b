// SPDX-License-Identifier: Apache-2.0
// Managers and rings on the nodes of `sinew run`, which are told apart by name.
#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>

#include "src/base/text.hpp"
#include "tests/launchers/run/launched.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class NodesTest : public testing::Test {
protected:
    static Words job(int nodes, int ranks, std::string const& what) {
        return {"--no-kill", "--fake-nodes", text(nodes),
                "-n",        text(ranks),    std::getenv("SINEW_TEST_NODES_PROGRAM"),
                what};
    }
    static void expect_right(Words const& words) {
        auto const ended = run(words, {}, Seconds(100));
        EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
        EXPECT_THAT(ended.out, HasSubstr("right")) << ended.err;
    }
    LeakCheck leaks;
};

struct Layout {
    int nodes, ranks;
};
class NodesOf : public NodesTest, public testing::WithParamInterface<Layout> {};

TEST_P(NodesOf, HaveProcesses) {
    expect_right(job(GetParam().nodes, GetParam().ranks, "processes"));
}
TEST_P(NodesOf, HavePools) { expect_right(job(GetParam().nodes, GetParam().ranks, "pools")); }
TEST_P(NodesOf, HaveManagers) { expect_right(job(GetParam().nodes, GetParam().ranks, "managers")); }
TEST_P(NodesOf, TellOfDeaths) { expect_right(job(GetParam().nodes, GetParam().ranks, "deaths")); }
TEST_P(NodesOf, HaveRings) { expect_right(job(GetParam().nodes, GetParam().ranks, "rings")); }
TEST_P(NodesOf, HaveGuests) { expect_right(job(GetParam().nodes, GetParam().ranks, "guests")); }
TEST_P(NodesOf, NameTheDeadOfARing) {
    expect_right(job(GetParam().nodes, GetParam().ranks, "ring_deaths"));
}

INSTANTIATE_TEST_SUITE_P(Layouts, NodesOf,
                         testing::Values(Layout{1, 1}, Layout{1, 2}, Layout{2, 2}, Layout{3, 5}),
                         [](auto const& each) {
                             return text(each.param.nodes, "nodes", each.param.ranks, "ranks");
                         });

TEST_F(NodesTest, TakeTheirManagersWithThem) {
    leaks.folders_may_stay();  // of the killed rank: the next sinew removes it
    Launched launched(job(2, 2, "lasting"));
    ASSERT_TRUE(launched.says("waiting"));
    ::kill(launched.rank(1), SIGKILL);
    auto const ended = launched.wait(Seconds(60));
    EXPECT_THAT(ended.out, AllOf(HasSubstr("lost, maybe executed 1"), HasSubstr("right")))
        << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("is lost"));
}

TEST_F(NodesTest, TakeTheirMembersOfARingWithThem) {
    leaks.folders_may_stay();
    Launched launched(job(2, 2, "lasting_ring"));
    ASSERT_TRUE(launched.says("reducing"));
    ::kill(launched.rank(1), SIGKILL);
    auto const ended = launched.wait(Seconds(60));
    EXPECT_THAT(ended.out, AllOf(HasSubstr("of 4 on "), HasSubstr("right"))) << ended.err;
}

TEST_F(NodesTest, TakeTheirProcessesWithThem) {
    leaks.folders_may_stay();
    Launched launched(job(2, 2, "lasting_process"));
    ASSERT_TRUE(launched.says("waiting"));
    ::kill(launched.rank(1), SIGKILL);
    auto const ended = launched.wait(Seconds(60));
    EXPECT_THAT(ended.out, AllOf(HasSubstr("exit code 255"), HasSubstr("right"))) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("is lost with its host"));
}

class NodesOfTheDead : public NodesTest, public testing::WithParamInterface<char const*> {};

// When the process that started them is gone, nothing stays on any node.
TEST_P(NodesOfTheDead, KeepNothing) {
    leaks.folders_may_stay();
    bool const ring = std::string_view(GetParam()) == "lasting_ring";
    Launched launched(job(2, 2, GetParam()));
    ASSERT_TRUE(launched.says(ring ? "reducing" : "waiting"));
    auto const agent = launched.rank(1);
    EXPECT_FALSE(descendants_of(agent).empty());
    ::kill(launched.rank(0), SIGKILL);
    EXPECT_TRUE(eventually([&] { return descendants_of(agent).empty(); }));
    auto const ended = launched.wait(Seconds(60));
    EXPECT_EQ(ended.code, 128 + SIGKILL);
    EXPECT_THAT(ended.err, HasSubstr("what rank 1 has started for it is stopped"));
}

INSTANTIATE_TEST_SUITE_P(By, NodesOfTheDead,
                         testing::Values("lasting", "lasting_ring", "lasting_process"));

}  // namespace
}  // namespace sinew::testing_support
