// SPDX-License-Identifier: Apache-2.0
// Parses host lists as batch systems write them, and malicious ones.
#include "launchers/command_line/hosts/hostlist.hpp"

#include <gmock/gmock.h>

#include <random>
#include <sinew/error.hpp>

#include "launchers/command_line/hosts/hostfile.hpp"
#include "tests/support/refusal.hpp"

namespace sinew::launch {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;
using testing_support::refusal;
using Host = HostRequest;

std::vector<std::string> slurm_hosts(std::string_view list) {
    return parse_slurm_hostlist(list, "LIST");
}

TEST(Hostlist, ExpandsSlurms) {
    EXPECT_THAT(slurm_hosts("node7"), ElementsAre("node7"));
    EXPECT_THAT(slurm_hosts("node[1-3]"), ElementsAre("node1", "node2", "node3"));
    EXPECT_THAT(slurm_hosts("node[08-11,7],login"),
                ElementsAre("node08", "node09", "node10", "node11", "node7", "login"));
    EXPECT_THAT(
        slurm_hosts("r[1-2]n[0,2]-ib.cluster"),
        ElementsAre("r1n0-ib.cluster", "r1n2-ib.cluster", "r2n0-ib.cluster", "r2n2-ib.cluster"));
    EXPECT_THAT(slurm_hosts("n[098-101]"), ElementsAre("n098", "n099", "n100", "n101"));
    EXPECT_THAT(slurm_hosts("n[0-99999]"), SizeIs(100'000));
}

TEST(Hostlist, ExpandsSlurmsCounts) {
    EXPECT_THAT(parse_slurm_counts("4", "COUNTS"), ElementsAre(4));
    EXPECT_THAT(parse_slurm_counts("2(x3),1,16(x2)", "COUNTS"), ElementsAre(2, 2, 2, 1, 16, 16));
}

TEST(Hostlist, ReadsThoseOfTheOthers) {
    EXPECT_THAT(parse_mcpu_hosts("hostA 4 hostB 2  hostA 1", "MCPU"),
                ElementsAre(Host{"hostA", 5, 0}, Host{"hostB", 2, 0}));
    EXPECT_THAT(parse_host_per_slot("a a b a", "HOSTS"),
                ElementsAre(Host{"a", 3, 0}, Host{"b", 1, 0}));
    EXPECT_THAT(parse_host_per_slot("n1.site\nn1.site\r\n\nn2.site\n", "NODEFILE"),
                ElementsAre(Host{"n1.site", 2, 0}, Host{"n2.site", 1, 0}));
    EXPECT_THAT(parse_pe_hostfile("n1.site 8 all.q@n1.site UNDEFINED\n"
                                  "n2.site 4 all.q@n2.site 0,0:0,1\n\n",
                                  "PE"),
                ElementsAre(Host{"n1.site", 8, 0}, Host{"n2.site", 4, 0}));
}

TEST(Hostlist, NamesWhatItRefuses) {
    for (std::string const list : {"",
                                   ",",
                                   "a,,b",
                                   "n[1-3",
                                   "n1-3]",
                                   "n[[1-2]]",
                                   "n[]",
                                   "n[1-]",
                                   "n[-3]",
                                   "n[3-1]",
                                   "n[1-2-3]",
                                   "n[a-c]",
                                   "n[1,]",
                                   "n[0x1-0x4]",
                                   "n[+1]",
                                   "n[1 - 2]",
                                   "-oProxyCommand=id",
                                   "a b",
                                   "a;id",
                                   "$(id)",
                                   "a\nb",
                                   "a'b",
                                   "@a",
                                   "n[1-999999999]",
                                   "n[0-100000]",
                                   "n[1-400]m[1-400]",
                                   "n[9999999999999999999999]",
                                   "n\xc3\xa9"})
        EXPECT_THAT(refusal([&] { slurm_hosts(list); }),
                    AllOf(StartsWith("LIST holds "), HasSubstr("-H")))
            << list;
    EXPECT_THAT(refusal([] { slurm_hosts(std::string(5000, 'a') + "[3-1]"); }),
                SizeIs(testing::Lt(300U)));
    for (std::string const list : {"", "0", "-1", "2(x0)", "2(x", "2(x3", "2x3", "(x3)", "2(x3)4",
                                   "2(x999999999)", "1(x90000),1(x90000)", "9999999999", "1,,1"})
        EXPECT_THAT(refusal([&] { parse_slurm_counts(list, "COUNTS"); }),
                    StartsWith("COUNTS holds "))
            << list;
    for (std::string const list :
         {"", "a", "a 1 b", "a b", "a 0", "a -1", "-a 1", "a 1000001", "a 1000000 a 1"})
        EXPECT_THAT(refusal([&] { parse_mcpu_hosts(list, "MCPU"); }), StartsWith("MCPU holds "))
            << list;
    for (std::string const list : {"", " \n ", "a -b", "a\x01", "a|b", "../x"})
        EXPECT_THAT(refusal([&] { parse_host_per_slot(list, "HOSTS"); }),
                    StartsWith("HOSTS holds "))
            << list;
    for (std::string const list : {"", "\n", "a", "a x q u", "a 4\nb", "-a 4"})
        EXPECT_THAT(refusal([&] { parse_pe_hostfile(list, "PE"); }), StartsWith("PE holds "))
            << list;
}

// Any input is refused with a reason, or gives host names that are safe for ssh.
TEST(Hostlist, TakesOnlyHostsOrRefuses) {
    std::mt19937 random(7);  // fixed seed
    std::string const letters = "n1230-[],(x) \n@:.%$;'\"\\\t\x01\xff" + std::string(1, '\0');
    auto const any = [&](std::size_t below) {
        return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
    };
    std::size_t taken = 0;
    auto const check = [&](std::vector<Host> const& hosts) {
        ++taken;
        EXPECT_LE(hosts.size(), 100'000U);
        for (auto const& host : hosts) {
            EXPECT_NO_THROW(check_host(host.host, "host"));
            EXPECT_GE(host.slots, 0);
        }
    };
    for (int round = 0; round < 20'000; ++round) {
        static std::string const seeds[] = {"n[1-3,07],m", "2(x3),1", "a 4 b 2",
                                            "a 4 q u\nb 2 q u"};
        std::string list = seeds[any(4)];
        for (std::size_t change = any(5); change > 0; --change) {
            auto const at = any(list.size() + 1);
            if (any(2) == 0 && at < list.size()) list[at] = letters[any(letters.size())];
            else list.insert(at, 1, letters[any(letters.size())]);
        }
        try {
            switch (any(5)) {
                case 0: {
                    std::vector<Host> hosts;
                    for (auto const& name : slurm_hosts(list)) hosts.push_back({name, 0, 0});
                    check(hosts);
                    break;
                }
                case 1:
                    EXPECT_LE(parse_slurm_counts(list, "LIST").size(), 100'000U);
                    break;
                case 2:
                    check(parse_mcpu_hosts(list, "LIST"));
                    break;
                case 3:
                    check(parse_host_per_slot(list, "LIST"));
                    break;
                default:
                    check(parse_pe_hostfile(list, "LIST"));
            }
        } catch (UsageError const& error) {
            EXPECT_THAT(error.what(), StartsWith("LIST holds "));
        }
    }
    EXPECT_GT(taken, 100U);
}

}  // namespace
}  // namespace sinew::launch
