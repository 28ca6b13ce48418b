// SPDX-License-Identifier: Apache-2.0
#include "launchers/pmi/pmi1.hpp"

#include <gmock/gmock.h>

namespace sinew::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// A server of two ranks, with its replies.
struct Pmi1Test : ::testing::Test {
    Pmi1Test() : server(job(), hooks()) {}

    static Pmi1Server::Job job() {
        return {.name = "kvs",
                .local_ranks = {4, 5},
                .size = 8,
                .universe = 16,
                .app_of_local_rank = {0, 1},
                .process_mapping = "(vector,(0,4,2))"};
    }
    Pmi1Server::Hooks hooks() {
        Pmi1Server::Hooks hooks;
        hooks.reply = [this](int rank, std::string_view line) { replies[rank] += line; };
        hooks.barrier = [this](std::string puts) { barriers.push_back(std::move(puts)); };
        hooks.abort = [this](int rank, int status, std::string message) {
            events.push_back("abort " + std::to_string(rank) + " " + std::to_string(status) + " " +
                             message);
        };
        hooks.connected = [this](int rank) {
            events.push_back("connected " + std::to_string(rank));
        };
        hooks.finalized = [this](int rank) {
            events.push_back("finalized " + std::to_string(rank));
        };
        hooks.violation = [this](int rank, std::string const& why) {
            events.push_back("violation " + std::to_string(rank) + " " + why);
        };
        using Answer = Pmi1Server::NameAnswer const&;
        hooks.publish = [this](std::string const& name, std::string const& port, Answer done) {
            done(names.emplace(name, port).second ? std::optional(port) : std::nullopt);
        };
        hooks.lookup = [this](std::string const& name, Answer found) {
            auto const at = names.find(name);
            found(at == names.end() ? std::nullopt : std::optional(at->second));
        };
        hooks.unpublish = [this](std::string const& name, Answer done) {
            done(names.erase(name) > 0 ? std::optional(name) : std::nullopt);
        };
        return hooks;
    }
    std::string ask(int rank, std::string_view lines) {
        replies[rank].clear();
        server.receive(rank, lines);
        return replies[rank];
    }

    std::map<int, std::string> replies;
    std::vector<std::string> barriers, events;
    std::map<std::string, std::string> names;
    Pmi1Server server;
};

TEST_F(Pmi1Test, TellsWhatAClientAsksFirst) {
    EXPECT_EQ(ask(0, "cmd=init pmi_version=1 pmi_subversion=1\n"),
              "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    EXPECT_EQ(ask(0, "cmd=get_maxes\n"),
              "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024\n");
    EXPECT_EQ(ask(1, "cmd=get_appnum\n"), "cmd=appnum rc=0 appnum=1\n");
    EXPECT_EQ(ask(0, "cmd=get_universe_size\n"), "cmd=universe_size rc=0 size=16\n");
    EXPECT_EQ(ask(0, "cmd=get_my_kvsname\n"), "cmd=my_kvsname rc=0 kvsname=kvs\n");
    EXPECT_EQ(ask(0, "cmd=get kvsname=kvs key=PMI_process_mapping\n"),
              "cmd=get_result rc=0 msg=success value=(vector,(0,4,2))\n");
    EXPECT_EQ(ask(0, "cmd=finalize\n"), "cmd=finalize_ack rc=0\n");
    EXPECT_THAT(events, ElementsAre("connected 0", "finalized 0"));
}

TEST_F(Pmi1Test, AnotherVersionIsRefused) {
    EXPECT_THAT(ask(0, "cmd=init pmi_version=2 pmi_subversion=0\n"), HasSubstr("rc=-1"));
    EXPECT_THAT(events, IsEmpty());
}

TEST_F(Pmi1Test, LinesMayComeInPiecesOrSeveralAtOnce) {
    EXPECT_EQ(ask(0, "cmd=get_app"), "");
    EXPECT_EQ(ask(0, "num\ncmd=finalize\n"), "cmd=appnum rc=0 appnum=0\ncmd=finalize_ack rc=0\n");
}

TEST_F(Pmi1Test, ALineThatDoesNotEndEndsThatClientOnly) {
    std::string const much(Pmi1Server::longest_line, 'x');
    EXPECT_EQ(ask(0, much), "");
    EXPECT_EQ(ask(0, "y"), "");
    EXPECT_THAT(events, ElementsAre(StartsWith("violation 0 a line of more than 65536 bytes")));
    EXPECT_EQ(ask(0, "\ncmd=get_appnum\n"), "");
    EXPECT_EQ(ask(1, "cmd=get_appnum\n"), "cmd=appnum rc=0 appnum=1\n");
}

TEST_F(Pmi1Test, PutsAreExchangedAtTheBarrier) {
    EXPECT_EQ(ask(0, "cmd=put kvsname=kvs key=a value=x y=1 key=b 3:\n"),
              "cmd=put_result rc=0 msg=success\n");
    EXPECT_EQ(ask(0, "cmd=barrier_in\n"), "");
    EXPECT_EQ(server.waiting(), 1u);
    EXPECT_EQ(ask(1, "cmd=barrier_in\n"), "");
    ASSERT_EQ(barriers.size(), 1u);
    EXPECT_EQ(barriers[0], "1:a14:x y=1 key=b 3:");
    server.barrier_done({barriers[0], pack_puts({{"far", "away"}}), "nonsense"});
    EXPECT_EQ(replies[0], "cmd=barrier_out rc=0 msg=success\n");
    EXPECT_EQ(replies[1], "cmd=barrier_out rc=0 msg=success\n");
    EXPECT_EQ(ask(1, "cmd=get kvsname=kvs key=far\n"),
              "cmd=get_result rc=0 msg=success value=away\n");
    EXPECT_EQ(ask(1, "cmd=get kvsname=kvs key=a\n"),
              "cmd=get_result rc=0 msg=success value=x y=1 key=b 3:\n");
    ask(0, "cmd=barrier_in\n");
    ask(1, "cmd=barrier_in\n");
    EXPECT_EQ(barriers.back(), "") << "only what was put since";
    server.barrier_failed("node 3 died");
    EXPECT_EQ(replies[0], "cmd=barrier_out rc=-1 msg=node_3_died\n");
}

TEST_F(Pmi1Test, WhatIsNotThereIsSaidSo) {
    EXPECT_THAT(ask(0, "cmd=get kvsname=kvs key=none\n"), StartsWith("cmd=get_result rc=-1"));
    EXPECT_THAT(ask(0, "cmd=get kvsname=other key=a\n"), StartsWith("cmd=get_result rc=-1"));
    EXPECT_THAT(ask(0, "cmd=put kvsname=other key=a value=b\n"),
                StartsWith("cmd=put_result rc=-1"));
    EXPECT_THAT(ask(0, "cmd=put kvsname=kvs\n"), StartsWith("cmd=put_result rc=-1"));
    EXPECT_EQ(ask(0, "cmd=dance\n"), "cmd=dance_result rc=-1 msg=unknown_request_dance\n");
    EXPECT_THAT(ask(0, "\n"), HasSubstr("rc=-1"));
}

TEST_F(Pmi1Test, ABarrierOfOneRankTwiceEndsThatClient) {
    ask(0, "cmd=barrier_in\n");
    ask(0, "cmd=barrier_in\n");
    EXPECT_THAT(events, ElementsAre(StartsWith("violation 0")));
    EXPECT_THAT(barriers, IsEmpty());
}

TEST_F(Pmi1Test, SpawnIsRefusedOnceAfterTheLastBlock) {
    EXPECT_EQ(ask(0,
                  "mcmd=spawn\nnprocs=2\nexecname=a\ntotspawns=2\nspawnssofar=1\narg1=cmd=put\n"
                  "endcmd\n"),
              "");
    EXPECT_EQ(ask(0, "mcmd=spawn\nnprocs=1\nexecname=b\ntotspawns=2\nspawnssofar=2\nendcmd\n"),
              "cmd=spawn_result rc=-1 msg=spawn_not_supported\n");
    EXPECT_EQ(ask(0, "cmd=get_appnum\n"), "cmd=appnum rc=0 appnum=0\n");
}

TEST_F(Pmi1Test, NamesArePublishedFoundAndTakenBack) {
    EXPECT_THAT(ask(0, "cmd=publish_name service=s port=tag#0 host$x\n"), HasSubstr("info=ok"));
    EXPECT_EQ(ask(1, "cmd=lookup_name service=s\n"),
              "cmd=lookup_result rc=0 info=ok port=tag#0 host$x\n");
    EXPECT_THAT(ask(0, "cmd=unpublish_name service=s\n"), HasSubstr("rc=0 info=ok"));
    EXPECT_THAT(ask(0, "cmd=unpublish_name service=s\n"), HasSubstr("rc=-1"));
    EXPECT_THAT(ask(1, "cmd=lookup_name service=s\n"), HasSubstr("rc=-1 info=not_found"));
}

TEST_F(Pmi1Test, AbortKeepsItsCode) {
    ask(1, "cmd=abort exitcode=42\n");
    ask(0, "cmd=abort exitcode=7 message=so it goes\n");
    EXPECT_THAT(events, ElementsAre("abort 1 42 ", "abort 0 7 so it goes"));
}

TEST(PackPuts, GivesBackWhatWentIn) {
    std::map<std::string, std::string, std::less<>> const puts{
        {"a", ""}, {"b", std::string("\0\n:9", 4)}, {"", "x"}};
    auto const back = unpack_puts(pack_puts(puts));
    ASSERT_TRUE(back);
    EXPECT_TRUE(std::equal(
        puts.begin(), puts.end(), back->begin(), back->end(),
        [](auto const& a, auto const& b) { return a.first == b.first && a.second == b.second; }));
    for (auto const* const wrong : {"1", "1:", "1:a", "2:a1:b", "-1:a1:b", "99999999999999999999:a",
                                    "1:a18446744073709551615:b", "x"})
        EXPECT_FALSE(unpack_puts(wrong)) << wrong;
}

TEST(ProcessMapping, TellsBlocks) {
    EXPECT_EQ(process_mapping({0, 0, 0, 1, 2, 2, 3, 3, 3, 3}),
              "(vector,(0,1,3),(1,1,1),(2,1,2),(3,1,4))");
    EXPECT_EQ(process_mapping({0, 0, 1, 1}), "(vector,(0,2,2))");
    EXPECT_EQ(process_mapping({0, 1, 0, 1}), "(vector,(0,2,1),(0,2,1))");
    EXPECT_EQ(process_mapping({7, 7, 3}), "(vector,(0,1,2),(1,1,1))");
    EXPECT_EQ(process_mapping({}), "(vector)");
}

}  // namespace
}  // namespace sinew::launch
