// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/support/statistics.hpp"

namespace sinew::bench {

struct PeerResult {
    std::string name;
    Percentiles us;
    double ratio = 0;  ///< its time / ours, median over rounds: above 1 ours is faster
    std::optional<double> fraction_of_link = {};
};

/// A part of a row's rounds: those in one state of the cores.
struct StateResult {
    std::string state;
    int rounds = 0;
    double us = 0;
    std::vector<PeerResult> peers = {};
};

/// One line of the result: one algorithm of ours at one size, and the peers beside it.
struct Row {
    std::string collective;
    std::size_t bytes = 0;
    int ranks = 0;
    int nodes = 0;
    std::string dtype;
    std::string op;  ///< "none" where nothing is reduced
    std::string algorithm;
    std::string variant;
    Percentiles us = {};
    double algbw_gbs = 0;
    double busbw_gbs = 0;
    std::optional<std::size_t> wrong = {};  ///< elements over all ranks; empty: not checked
    std::string state = {};
    std::vector<PeerResult> peers = {};
    std::optional<double> fraction_of_link = {};
    std::vector<StateResult> by_state = {};  ///< when there is more than one
};

/// One line of JSON, without the end of the line, and back (UsageError when it is not a row).
std::string to_json(Row const& row);
Row row_from_json(std::string const& line);

/// All rows of a file of such lines; UsageError names the file and the line that is not one.
std::vector<Row> read_rows(std::string const& path);

/// Joins runs: the rows of the first file and those with the same peers (repetitions), as medians;
/// every other file adds its peers to the rows they match, repetitions as medians too. Ratios are
/// taken against our time in the repetition of the same number, so give the files in the order of
/// the runs.
std::vector<Row> merge(std::vector<std::vector<Row>> const& files);

}  // namespace sinew::bench
