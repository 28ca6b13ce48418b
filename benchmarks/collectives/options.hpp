// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <sinew/comm/algorithm.hpp>
#include <sinew/comm/data_type.hpp>
#include <sinew/comm/reduce_op.hpp>
#include <string>
#include <vector>

#include "benchmarks/collectives/variant.hpp"
#include "benchmarks/peers/mpi_session.hpp"

namespace sinew::bench {

/// The command line.
struct Options {
    std::vector<Collective> collectives{Collective::allreduce};
    std::vector<DataType> types{DataType::Kind::f32};
    std::vector<ReduceOp> ops{sum};
    std::vector<std::string> algorithms{"auto"};
    std::vector<std::size_t> sizes{8, 1 << 10, 64 << 10, 1 << 20, 16 << 20};
    std::vector<Variant> variants{Variant::reused};  ///< both if there are peers
    std::vector<std::string> peers = {};

    std::optional<int> ranks = {};  ///< the number that the user expects
    int threads = 0;                ///< ranks as threads of this process; 0: as launched
    MpiThread mpi_thread = MpiThread::single;
    bool own_session = false;  ///< each rank in a session of its own
    bool nonblocking = false;  ///< also time the non-blocking form of each call
    bool zero_copy = false;    ///< buffers in memory that the ranks of a node share

    int warmup = 10;       ///< calls before timing
    int rounds = 100;      ///< at most
    double budget = 1;     ///< seconds of timing for each size, of all variants together
    bool tail = false;     ///< also time single calls
    double link_rate = 0;  ///< bits per second; 0: not given
    bool check = true;
    bool pin = true;

    std::string json = {};
    std::string plot = {};
    std::vector<std::string> merge = {};
    std::string report = {};             ///< the page to write
    std::vector<std::string> runs = {};  ///< the JSON files that it is made from
    std::optional<int> autogroup_nice = {};
    bool explain = false;
    bool help = false;
};

/// Throws UsageError if a flag is unknown (with the nearest one) or a value is invalid.
Options parse_options(std::vector<std::string> const& arguments);

/// The text of --help: every flag, and examples.
std::string help_text();

}  // namespace sinew::bench
