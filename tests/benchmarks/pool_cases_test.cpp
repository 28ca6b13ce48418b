// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/pool/cases.hpp"

#include <gmock/gmock.h>

#include <sinew/error.hpp>

#include "benchmarks/pool/options.hpp"

namespace sinew::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PoolBenchOptions parse_pool(std::vector<std::string> words) {
    words.insert(words.begin(), "pool");
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    return parse_pool_options(static_cast<int>(arguments.size()), arguments.data());
}

std::string pool_refusal(std::vector<std::string> const& words) {
    try {
        parse_pool(words);
    } catch (UsageError const& problem) {
        return problem.what();
    }
    return {};
}

TEST(PoolCases, AllAreMeasuredUnlessNamed) {
    EXPECT_EQ(parse_pool({}).cases.size(), all_cases().size());
    EXPECT_THAT(parse_pool({}).workers, ElementsAre(2, 4));
    auto const some = parse_cases("kill-redispatch,noop-map");
    ASSERT_EQ(some.size(), 2U);
    EXPECT_EQ(some[0].name, "noop-map");
    EXPECT_EQ(some[1].name, "kill-redispatch");
}

TEST(PoolCases, AnImpossibleValueIsNamed) {
    EXPECT_THAT(pool_refusal({"--cases", "kill-redispach"}),
                HasSubstr("Did you mean kill-redispatch?"));
    EXPECT_THAT(pool_refusal({"--cases", "kill-replacment"}),
                HasSubstr("Did you mean kill-replacement?"));
    EXPECT_THAT(pool_refusal({"--peers", "dusk"}), HasSubstr("Did you mean dask?"));
    EXPECT_THAT(pool_refusal({"--workers", "2,0"}), HasSubstr("--workers 0"));
    EXPECT_THAT(pool_refusal({"--rounds", "0"}), HasSubstr("--rounds 0 (must be 1 to 100000)"));
    EXPECT_THAT(pool_refusal({"--seconds", "0"}), HasSubstr("--seconds 0"));
    EXPECT_THAT(pool_refusal({"--round"}), HasSubstr("--help"));
}

TEST(PoolCases, KillsAreTimedOneByOneInMilliseconds) {
    for (auto const& each : parse_cases("kill-redispatch,kill-replacement")) {
        EXPECT_EQ(each.unit, "ms");
        EXPECT_GE(each.size, 20U);
        EXPECT_TRUE(each.rivals.empty());
        EXPECT_DOUBLE_EQ(each.value(0.004 * static_cast<double>(each.size), each.size), 4);
    }
}

TEST(PoolCases, HelpNamesEachApartFromItsMeaning) {
    auto const help = pool_help();
    for (auto const& each : all_cases())
        EXPECT_THAT(help, HasSubstr("  " + std::string(each.name) + " "));
}

}  // namespace
}  // namespace sinew::bench
