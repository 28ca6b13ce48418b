// SPDX-License-Identifier: Apache-2.0
#include "launchers/command_line/hosts/hostfile.hpp"

#include <gmock/gmock.h>

#include <sinew/error.hpp>

#include "tests/support/refusal.hpp"

namespace sinew::launch {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing_support::refusal;

TEST(Hostfile, ReadsBothDialects) {
    EXPECT_THAT(parse_hostfile("# mine\n"
                               "\n"
                               "node1 slots=4\n"
                               "node2 slots=2 max_slots=8   # Open MPI\n"
                               "  node3 max-slots = 3 slots = 2\r\n"
                               "node4\n"
                               "node5:6\n"
                               "node6:1# MPICH\n"
                               "alice@node7 slots=1\n"
                               "bob@node8:2\n"
                               "node9 user=carol\n"
                               "[2001:db8::7]\n"
                               "[::1]:3\n"
                               "dave@[fe80::1%eth0] slots=2\n"
                               "10.0.0.1:2",
                               "hosts"),
                ElementsAre(HostRequest{"node1", 4, 0}, HostRequest{"node2", 2, 8},
                            HostRequest{"node3", 2, 3}, HostRequest{"node4", 0, 0},
                            HostRequest{"node5", 6, 0}, HostRequest{"node6", 1, 0},
                            HostRequest{"alice@node7", 1, 0}, HostRequest{"bob@node8", 2, 0},
                            HostRequest{"carol@node9", 0, 0}, HostRequest{"2001:db8::7", 0, 0},
                            HostRequest{"::1", 3, 0}, HostRequest{"dave@fe80::1%eth0", 2, 0},
                            HostRequest{"10.0.0.1", 2, 0}));
    EXPECT_THAT(parse_hostfile("", "hosts"), IsEmpty());
    EXPECT_THAT(parse_hostfile("a\na\nb\na slots=2\n", "hosts"),  // requested_nodes adds them up
                ElementsAre(HostRequest{"a", 0, 0}, HostRequest{"a", 0, 0}, HostRequest{"b", 0, 0},
                            HostRequest{"a", 2, 0}));
}

TEST(Hostfile, NamesTheLineThatItRefuses) {
    struct Bad {
        char const* line;
        char const* says;
    };
    for (Bad const& bad : std::vector<Bad>{{"node slots=x", "slots=x must be a whole number"},
                                           {"node slots=", "slots="},
                                           {"node slots=0", "slots=0"},
                                           {"node slots=-1", "slots=-1"},
                                           {"node slots=99999999999", "slots=99999999999"},
                                           {"node slots=4 max_slots=2", "less than its 4 slots"},
                                           {"node slots=4 slots=4", "twice"},
                                           {"node:4 slots=4", "twice"},
                                           {"node slot=4", "unknown: slot=4"},
                                           {"node 4", "unknown: 4"},
                                           {"node:", ":"},
                                           {"node:x", ":x must be a whole number"},
                                           {"fe80::1", "in brackets: [fe80::1]"},
                                           {"[::1", "no ] after ["},
                                           {"[::1]4", "expected :N after ]"},
                                           {"[]", "no host"},
                                           {"user@", "no host"},
                                           {"@host", "no user before the @"},
                                           {"-oProxyCommand=x", "not a valid host name"},
                                           {"user@-x", "not a valid host name"},
                                           {"-x@host", "not a valid host name"},
                                           {"a;b", "not a valid host name"},
                                           {"a$(b)", "not a valid host name"},
                                           {"a,b", "not a valid host name"},
                                           {"^node", "not a valid host name"},
                                           {"a@b user=c", "its user is given twice"}}) {
        std::string const text = std::string("good\n\n") + bad.line + "\ngood\n";
        EXPECT_THAT(refusal([&] { parse_hostfile(text, "hosts"); }),
                    AllOf(StartsWith(std::string("hosts:3: ") + bad.line), HasSubstr(bad.says)))
            << bad.line;
    }
}

TEST(HostList, CountsSlots) {
    EXPECT_THAT(
        parse_host_list("a:4,b,[::1]:2,c@d, e:*", "-H ..."),
        ElementsAre(HostRequest{"a", 4, 0}, HostRequest{"b", 1, 0}, HostRequest{"::1", 2, 0},
                    HostRequest{"c@d", 1, 0}, HostRequest{"e", 0, 0}));
    EXPECT_THAT(parse_host_list("a", "-H a", 0), ElementsAre(HostRequest{"a", 0, 0}));
    for (char const* bad : {"", "a,", ",", "a:", "a:x", "a:0", "a b", "a:1:2"})
        EXPECT_THAT(refusal([&] { parse_host_list(bad, std::string("-H ") + bad); }),
                    StartsWith(std::string("-H ") + bad))
            << bad;
}

TEST(SelectHosts, ChoosesOfTheFile) {
    std::vector<HostRequest> const file{{"a", 4, 8}, {"u@b", 0, 0}, {"a", 2, 2}, {"c", 1, 1}};
    auto const choose = [&](char const* list) {
        return select_hosts(file, parse_host_list(list, "-H", 0), "-H");
    };
    EXPECT_THAT(choose("b,a"), ElementsAre(HostRequest{"u@b", 0, 0}, HostRequest{"a", 4, 8},
                                           HostRequest{"a", 2, 2}));
    EXPECT_THAT(choose("a:3"), ElementsAre(HostRequest{"a", 3, 8}));
    EXPECT_THAT(choose("v@b:2"), ElementsAre(HostRequest{"v@b", 2, 0}));
    EXPECT_THAT(refusal([&] { choose("c:5"); }), HasSubstr("allows c only max_slots=1"));
    EXPECT_THAT(refusal([&] { choose("a,d"); }), HasSubstr("d is not in the hostfile"));
}

}  // namespace
}  // namespace sinew::launch
