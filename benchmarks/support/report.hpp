// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "benchmarks/support/case.hpp"

namespace sinew::bench {

/// The comparison with one rival.
struct Comparison {
    std::string rival;
    double value = 0, ratio = 0;  ///< medians; ratio > 1: sinew is better
    double goal = 0;              ///< 0: none
    bool met() const { return ratio >= goal; }
};

struct CaseRow {
    Case what;
    int workers = 0;
    double value = 0;  ///< sinew's, median
    std::vector<Comparison> beside;
    std::string note;
    std::optional<double> max = {};  ///< sinew's worst unit, if each unit is timed
};

/// Formats as "29.1M", "41.0k", "17.2".
std::string short_number(double value);

void print_header(std::ostream& out);
void print(std::ostream& out, CaseRow const& row);
/// Returns one line: {"case","workers","value","unit",
/// "peers":{NAME:{"value","ratio","goal"?,"met"?}},"max"?,"note"?}
std::string json_line(CaseRow const& row);

}  // namespace sinew::bench
