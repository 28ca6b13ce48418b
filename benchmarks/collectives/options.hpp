// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <sinew/comm/algorithm.hpp>
#include <sinew/comm/data_type.hpp>
#include <sinew/comm/reduce_op.hpp>
#include <string>
#include <vector>

namespace sinew::bench {

/// Whether a buffer is left alone between the calls of a block.
enum class Variant : std::uint8_t {
    reused,  ///< untouched, as the OSU benchmarks do: flatters what leaves lines shared
    live,    ///< the owner writes its input and reads its output in between, outside the timing
};

constexpr std::string_view name(Variant variant) {
    return variant == Variant::reused ? "reused" : "live";
}

/// The command line.
struct Options {
    std::vector<Collective> collectives{Collective::allreduce};
    std::vector<DataType> types{DataType::Kind::f32};
    std::vector<ReduceOp> ops{sum};
    std::vector<std::string> algorithms{"auto"};
    std::vector<std::size_t> sizes{8, 1 << 10, 64 << 10, 1 << 20, 16 << 20};
    std::vector<Variant> variants{Variant::reused};
    std::vector<std::string> peers = {};

    std::optional<int> ranks = {};  ///< how many the user expects
    int threads = 0;                ///< ranks as threads of this process; 0: as launched

    int warmup = 10;       ///< calls before timing
    int rounds = 100;      ///< at most
    double budget = 1;     ///< seconds of timing for each size
    double link_rate = 0;  ///< bits per second; 0: not given
    bool check = true;
    bool pin = true;

    std::string json = {};
    std::string plot = {};
    std::vector<std::string> merge = {};
    std::optional<int> autogroup_nice = {};
    bool explain = false;
    bool help = false;
};

/// UsageError when a flag is unknown (it names the nearest one) or a value is not possible.
Options parse_options(std::vector<std::string> const& arguments);

/// What --help prints: every flag, and examples to start from.
std::string help_text();

}  // namespace sinew::bench
