// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "benchmarks/collectives/results/limit.hpp"

namespace sinew::bench {

/// What a run's figures depend on: the head of the table, and the first line of the JSON.
struct RunInfo {
    std::string version = {};  ///< of sinew
    std::string date = {};     ///< UTC, as 2026-01-31
    std::string machine = {};  ///< "AMD EPYC, 2 processors, Linux 6.1"
    int ranks = 0;
    int nodes = 0;
    std::string transport = {};
    std::string mpi = {};         ///< "Open MPI 4.1.4"; empty if there is none
    std::string mpi_thread = {};  ///< what it provides: "single"
    std::string barrier = {};     ///< between timed blocks: "flags in shared memory" or "sinew's"
    bool own_sessions = false;    ///< each rank in a session of its own
    bool oversubscribed = false;
    MachineLimits limits = {};
};

/// Convert to one line of JSON, {"run": {...}}, without a newline, and back. The second throws
/// UsageError for other text.
std::string to_json(RunInfo const& run);
RunInfo run_info_from_json(std::string const& line);

/// The head of a table, several lines that begin with "# ".
std::string to_text(RunInfo const& run);

/// "MPI_THREAD_SINGLE".
std::string thread_level(RunInfo const& run);

/// "AMD EPYC, 2 processors, Linux 6.1".
std::string machine_text();
/// Today's date in UTC.
std::string date_text();

}  // namespace sinew::bench
