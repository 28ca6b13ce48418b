// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/manager/cases.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sinew/error.hpp>
#include <sstream>

#include "benchmarks/manager/options.hpp"
#include "benchmarks/support/report.hpp"

namespace sinew::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ManagerBenchOptions parse(std::vector<std::string> words) {
    words.insert(words.begin(), "manager");
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    return parse_manager_options(static_cast<int>(arguments.size()), arguments.data());
}

std::string manager_refusal(std::vector<std::string> const& words) {
    try {
        parse(words);
    } catch (UsageError const& problem) {
        return problem.what();
    }
    return {};
}

std::vector<std::string_view> names(std::vector<Case> const& cases) {
    std::vector<std::string_view> all;
    for (auto const& each : cases) all.push_back(each.name);
    return all;
}

Case the(std::string const& name) { return parse_manager_cases(name).at(0); }

double goal(std::string const& name, std::string_view rival) {
    for (auto const& each : the(name).rivals)
        if (each.name == rival) return each.goal;
    return -1;
}

TEST(ManagerCases, AllAreMeasuredBesideAllUnlessNamed) {
    EXPECT_THAT(names(parse({}).cases), ElementsAre("sync", "async", "demo", "device"));
    EXPECT_THAT(names(parse({"--cases", "demo,sync"}).cases), ElementsAre("sync", "demo"));
    EXPECT_THAT(parse({}).peers, ElementsAre("multiprocessing", "grpc"));
    EXPECT_THAT(parse({"--peers", "grpc"}).peers, ElementsAre("grpc"));
    EXPECT_THAT(parse({"--peers", "none"}).peers, IsEmpty());
}

TEST(ManagerCases, AnImpossibleValueIsNamed) {
    EXPECT_THAT(manager_refusal({"--cases", "asinc"}), HasSubstr("Did you mean async?"));
    EXPECT_THAT(manager_refusal({"--peers", "grcp"}), HasSubstr("Did you mean grpc?"));
    EXPECT_THAT(manager_refusal({"--managers", "0"}), HasSubstr("--managers 0 (must be 1 to 256)"));
    EXPECT_THAT(manager_refusal({"--steps", "0"}), HasSubstr("--steps 0"));
    EXPECT_THAT(manager_refusal({"--step-us", "-1"}), HasSubstr("--step-us -1"));
    EXPECT_THAT(manager_refusal({"--rounds", "0"}), HasSubstr("--rounds 0"));
    EXPECT_THAT(manager_refusal({"--seconds", "61"}), HasSubstr("--seconds 61"));
    EXPECT_THAT(manager_refusal({"--step"}), HasSubstr("--help"));
}

TEST(ManagerCases, TheDemosHaveAsManyManagersAndStepsAsAskedFor) {
    auto const both = parse({"--cases", "demo,device", "--managers", "3"});
    for (auto const& each : both.cases) EXPECT_EQ(each.workers, 3);
    auto const usual = parse({"--cases", "demo"});
    EXPECT_EQ(usual.cases[0].workers, 4);
    EXPECT_EQ(usual.cases[0].size, 5000U);
    EXPECT_EQ(usual.step, std::chrono::microseconds(100));
    auto const small =
        parse({"--cases", "demo", "--managers", "2", "--steps", "50", "--step-us", "0"});
    EXPECT_EQ(small.cases[0].workers, 2);
    EXPECT_EQ(small.cases[0].size, 50U);
    EXPECT_EQ(small.step.count(), 0);
    for (auto const& each : {usual.cases[0], small.cases[0]})  // the time of all steps
        EXPECT_DOUBLE_EQ(each.value(1.5, each.size), 1.5);
    auto const others = parse({"--managers", "9", "--steps", "50"});
    EXPECT_EQ(others.cases[0].workers, 1);
    EXPECT_EQ(others.cases[0].size, 0U);
}

TEST(ManagerCases, GoalsAreRatiosAboveWhichWeAreBetter) {
    // At most 0.7 and 0.2 of their times; at least 10 and 20 times their rates.
    auto const sync = the("sync"), async = the("async"), demo = the("demo");
    EXPECT_DOUBLE_EQ(goal("sync", "multiprocessing"), sync.ratio(0.7, 1));
    EXPECT_DOUBLE_EQ(goal("sync", "grpc"), sync.ratio(0.2, 1));
    EXPECT_DOUBLE_EQ(goal("async", "multiprocessing"), async.ratio(10, 1));
    EXPECT_DOUBLE_EQ(goal("async", "grpc"), async.ratio(20, 1));
    EXPECT_DOUBLE_EQ(goal("demo", "sync"), demo.ratio(1, 2.2));
    EXPECT_EQ(goal("demo", "multiprocessing"), 0);
    EXPECT_EQ(goal("device", "sync"), goal("demo", "sync"));
}

TEST(ManagerCases, ACallTakesMicrosecondsAndCallsAreCounted) {
    EXPECT_DOUBLE_EQ(the("sync").value(0.5, 25'000), 20);
    EXPECT_DOUBLE_EQ(the("async").value(0.5, 1'000'000), 2'000'000);
}

TEST(ManagerCases, ARowIsToldAsThePoolsAre) {
    CaseRow const row{
        the("async"), 1, 2e6, {{"grpc", 4e4, 50, 20}, {"multiprocessing", 1e6, 2, 10}}, ""};
    EXPECT_EQ(nlohmann::json::parse(json_line(row)), nlohmann::json::parse(R"({"case": "async",
        "workers": 1, "value": 2e6, "unit": "calls/s", "peers":
        {"grpc": {"value": 4e4, "ratio": 50.0, "goal": 20.0, "met": true},
         "multiprocessing": {"value": 1e6, "ratio": 2.0, "goal": 10.0, "met": false}}})"));
    std::ostringstream table;
    print(table, row);
    EXPECT_THAT(table.str(), HasSubstr(">= 20.0 met"));
    EXPECT_THAT(table.str(), HasSubstr(">= 10.0 MISSED"));
}

TEST(ManagerCases, HelpNamesEachApartFromItsMeaning) {
    auto const help = manager_help();
    for (auto const& each : manager_cases())
        EXPECT_THAT(help, HasSubstr("  " + std::string(each.name) + " "));
}

}  // namespace
}  // namespace sinew::bench
