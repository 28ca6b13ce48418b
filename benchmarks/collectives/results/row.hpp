// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/collectives/results/run_info.hpp"
#include "benchmarks/support/statistics.hpp"

namespace sinew::bench {

/// Times of single calls, each begun by all ranks together, in us.
struct Tail {
    double p50 = 0, p99 = 0;
    int calls = 0;
};

struct PeerResult {
    std::string name;
    Percentiles us;
    double ratio = 0;  ///< the peer's time / sinew's, median over rounds: above 1 sinew is faster
    std::optional<double> fraction_of_link = {};
    std::optional<Tail> tail = {};
};

/// The part of a row's rounds that had one state of the cores.
struct StateResult {
    std::string state;
    int rounds = 0;
    double us = 0;
    std::vector<PeerResult> peers = {};
    std::optional<double> limit_us = {};
};

/// One line of the result: one algorithm of sinew at one size, with the peers' results.
struct Row {
    std::string collective;
    std::size_t bytes = 0;
    int ranks = 0;
    int nodes = 0;
    std::string dtype;
    std::string op;  ///< "none" if there is no reduction
    std::string algorithm;
    std::string variant;
    Percentiles us = {};
    double algbw_gbs = 0;
    double busbw_gbs = 0;
    std::optional<std::size_t> wrong = {};  ///< elements over all ranks; empty: not checked
    std::string state = {};
    std::vector<PeerResult> peers = {};
    std::optional<double> fraction_of_link = {};
    std::vector<StateResult> by_state = {};  ///< if there is more than one state
    std::optional<double> limit_us = {};     ///< what the machine could do at best
    std::optional<double> one_way_ns = {};   ///< one transfer of a cache line, median over rounds
    std::optional<Tail> tail = {};

    /// The share of the machine's limit that sinew reaches: 1 if it takes no longer.
    std::optional<double> of_limit() const {
        if (!limit_us) return {};
        return *limit_us / us.p50;
    }
};

/// The peer with the lowest ratio, whom to compare with; null without peers.
PeerResult const* best_peer(std::vector<PeerResult> const& peers);

/// Convert to one line of JSON, without a newline, and back. Throws UsageError for other text.
std::string to_json(Row const& row);
Row row_from_json(std::string const& line);

/// A file of --json: a line that describes the run, and the rows.
struct Results {
    RunInfo run;
    std::vector<Row> rows;
};

/// Reads a file of such lines. Throws UsageError with the file and the line that is not a row.
Results read_results(std::string const& path);

/// Joins runs. The rows are those of the first file; files with the same peers are repetitions and
/// become medians. Every other file adds its peers to the matching rows, also as medians of
/// repetitions. Ratios refer to sinew's time in the repetition with the same number, so the files
/// must be in the order of the runs.
std::vector<Row> merge(std::vector<std::vector<Row>> const& files);
/// Describes the joined runs: as the first, with the MPI libraries of all.
RunInfo merge(std::vector<RunInfo> const& runs);

}  // namespace sinew::bench
