// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/options.hpp"
#include "benchmarks/peers/peer.hpp"

#include <gmock/gmock.h>

#include <sinew/error.hpp>

namespace sinew::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string options_refusal(std::vector<std::string> const& arguments) {
    try {
        parse_options(arguments);
    } catch (UsageError const& problem) {
        return problem.what();
    }
    return {};
}

TEST(Options, DefaultsMeasureAllreduce) {
    Options const options = parse_options({});
    EXPECT_THAT(options.collectives, ElementsAre(Collective::allreduce));
    EXPECT_THAT(options.sizes, ElementsAre(8, 1024, 65536, 1 << 20, 16 << 20));
    EXPECT_TRUE(options.check);
}

TEST(Options, ListsByCommaAndByRepetitionAreTheSame) {
    Options const options = parse_options(
        {"--op", "allreduce,broadcast", "--op=scan", "--algorithm", "ring", "--algorithm", "auto",
         "--peer", "gloo,mpi", "--dtype", "f32,bf16", "--redop", "sum,max"});
    EXPECT_THAT(options.collectives,
                ElementsAre(Collective::allreduce, Collective::broadcast, Collective::scan));
    EXPECT_THAT(options.algorithms, ElementsAre("ring", "auto"));
    EXPECT_THAT(options.peers, ElementsAre("gloo", mpi_peer_name()));
    EXPECT_EQ(options.types.size(), 2u);
    EXPECT_EQ(options.ops.size(), 2u);
}

TEST(Options, AllIsEveryCollective) {
    EXPECT_EQ(parse_options({"--op", "all"}).collectives.size(), 16u);
}

TEST(Options, BothVariants) {
    EXPECT_THAT(parse_options({"--variant", "both"}).variants,
                ElementsAre(Variant::reused, Variant::live));
    EXPECT_THAT(parse_options({"--variant", "live"}).variants, ElementsAre(Variant::live));
}

TEST(Options, BesidePeersBothVariantsAreShown) {
    EXPECT_THAT(parse_options({"--peer", "gloo"}).variants,
                ElementsAre(Variant::reused, Variant::live));
    EXPECT_THAT(parse_options({"--peer", "gloo", "--variant", "live"}).variants,
                ElementsAre(Variant::live));
    EXPECT_THAT(parse_options({}).variants, ElementsAre(Variant::reused));
}

TEST(Options, AllPeersAreThoseOfThisProgram) {
    auto const peers = parse_options({"--peer", "gloo,all"}).peers;
    EXPECT_EQ(peers.front(), "gloo");
    EXPECT_EQ(peers.size(), every_peer().size());
    for (auto const& peer : every_peer()) EXPECT_THAT(peers, ::testing::Contains(peer));
}

TEST(Options, APresetIsWhatOtherFlagsChange) {
    Options const quick = parse_options({"--budget", "0.1", "--preset", "quick"});
    EXPECT_EQ(quick.collectives.size(), 6u);
    EXPECT_THAT(quick.sizes, ElementsAre(8, 1024, 65536, 1 << 20, 16 << 20));
    EXPECT_DOUBLE_EQ(quick.budget, 0.1);
    EXPECT_EQ(quick.variants.size(), 2u);
    Options const full = parse_options({"--preset", "full", "--op", "scan"});
    EXPECT_THAT(full.collectives, ElementsAre(Collective::scan));
    EXPECT_EQ(full.sizes.size(), 27u);  // 4 B to 256 MiB
    EXPECT_EQ(full.sizes.back(), 256u << 20);
    EXPECT_THAT(options_refusal({"--preset", "slow"}), HasSubstr("slow"));
}

TEST(Options, TheLevelOfThreadsIsThatOfMostPrograms) {
    EXPECT_EQ(parse_options({}).mpi_thread, MpiThread::single);
    EXPECT_EQ(parse_options({"--mpi-thread", "multiple"}).mpi_thread, MpiThread::multiple);
    EXPECT_THAT(options_refusal({"--mpi-thread", "serialized"}), HasSubstr("serialized"));
}

TEST(Options, AReportIsMadeOfRuns) {
    Options const options = parse_options({"--report", "page.md", "--runs", "a.json", "b.json"});
    EXPECT_EQ(options.report, "page.md");
    EXPECT_THAT(options.runs, ElementsAre("a.json", "b.json"));
    EXPECT_THAT(options_refusal({"--report", "page.md"}), HasSubstr("--runs"));
    EXPECT_THAT(options_refusal({"--runs", "a.json"}), HasSubstr("--report"));
}

TEST(Options, ThreadsHaveNoSessionsOfTheirOwn) {
    EXPECT_TRUE(parse_options({"--own-session"}).own_session);
    EXPECT_THAT(options_refusal({"--own-session", "--threads", "2"}), HasSubstr("--own-session"));
}

TEST(Options, NumbersAndFiles) {
    Options const options =
        parse_options({"--ranks", "4", "--budget", "0.5", "--rounds=7", "--warmup", "0",
                       "--link-rate", "200mbit", "--autogroup-nice", "-15", "--json", "a.json",
                       "--no-check", "--no-pin", "--threads", "3"});
    EXPECT_EQ(options.ranks, 4);
    EXPECT_EQ(options.threads, 3);
    EXPECT_DOUBLE_EQ(options.budget, 0.5);
    EXPECT_EQ(options.rounds, 7);
    EXPECT_DOUBLE_EQ(options.link_rate, 200e6);
    EXPECT_EQ(options.autogroup_nice, -15);
    EXPECT_FALSE(options.check);
    EXPECT_FALSE(options.pin);
}

TEST(Options, AnUnknownFlagNamesTheNearest) {
    EXPECT_THAT(options_refusal({"--siezs", "8"}), HasSubstr("did you mean --sizes?"));
    EXPECT_THAT(options_refusal({"--peers", "gloo"}), HasSubstr("did you mean --peer?"));
    EXPECT_THAT(options_refusal({"allreduce"}), HasSubstr("--op allreduce"));
}

TEST(Options, AnImpossibleValueIsNamed) {
    EXPECT_THAT(options_refusal({"--op", "alreduce"}), HasSubstr("did you mean allreduce?"));
    EXPECT_THAT(options_refusal({"--peer", "openmp"}), HasSubstr("did you mean openmpi?"));
    EXPECT_THAT(options_refusal({"--variant", "alive"}), HasSubstr("alive"));
    EXPECT_THAT(options_refusal({"--dtype", "float"}), HasSubstr("float"));
    EXPECT_THAT(options_refusal({"--rounds", "0"}), HasSubstr("--rounds 0"));
    EXPECT_THAT(options_refusal({"--budget", "-1"}), HasSubstr("--budget"));
    EXPECT_THAT(options_refusal({"--ranks", "four"}), HasSubstr("four"));
    EXPECT_THAT(options_refusal({"--merge", "one.json"}), HasSubstr("--merge"));
    EXPECT_THAT(options_refusal({"--json"}), HasSubstr("--json"));
    EXPECT_NE(options_refusal({"--check", "--no-check"}), "");
}

TEST(Help, NamesEveryFlag) {
    std::string const help = help_text();
    for (char const* flag :
         {"--op",       "--sizes",  "--dtype",          "--redop",  "--algorithm",  "--variant",
          "--peer",     "--ranks",  "--threads",        "--warmup", "--rounds",     "--budget",
          "--no-check", "--no-pin", "--autogroup-nice", "--json",   "--plot",       "--link-rate",
          "--explain",  "--merge",  "--preset",         "--tail",   "--mpi-thread", "--own-session",
          "--report",   "--runs"})
        EXPECT_THAT(help, HasSubstr(flag));
}

}  // namespace
}  // namespace sinew::bench
