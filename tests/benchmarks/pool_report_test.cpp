// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "benchmarks/pool/cases.hpp"

namespace sinew::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

nlohmann::json parsed(CaseRow const& row) { return nlohmann::json::parse(json_line(row)); }

std::string printed(CaseRow const& row) {
    std::ostringstream out;
    print(out, row);
    return std::move(out).str();
}

CaseRow timed_kills() {
    CaseRow row{parse_cases("kill-redispatch").front(), 4, 1.25, {}, "140 kills"};
    row.max = 3.5;
    return row;
}

TEST(PoolReport, ALineOfJsonHasWhatWasMeasuredAndBesideWhom) {
    CaseRow const row{parse_cases("apply").front(), 2, 30, {{"multiprocessing", 240, 8, 3.5}}, ""};
    EXPECT_EQ(parsed(row),
              nlohmann::json::parse(
                  R"({"case": "apply", "workers": 2, "value": 30.0, "unit": "us", "peers":
                {"multiprocessing": {"value": 240.0, "ratio": 8.0, "goal": 3.5, "met": true}}})"));
}

TEST(PoolReport, ACaseWithoutPeersHasNoneAndItsMaximum) {
    EXPECT_EQ(parsed(timed_kills()),
              nlohmann::json::parse(R"({"case": "kill-redispatch", "workers": 4, "value": 1.25,
                  "unit": "ms", "peers": {}, "max": 3.5, "note": "140 kills"})"));
}

TEST(PoolReport, AMaximumIsPrintedOnlyWhereThereIsOne) {
    EXPECT_THAT(printed(timed_kills()), HasSubstr("max 3.50 ms of 140 kills\n"));
    auto row = timed_kills();
    row.max.reset();
    EXPECT_THAT(printed(row), HasSubstr(" 140 kills\n"));
    EXPECT_THAT(printed(row), Not(HasSubstr("max")));
}

}  // namespace
}  // namespace sinew::bench
