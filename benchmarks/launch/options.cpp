// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/launch/options.hpp"

#include "benchmarks/support/flags.hpp"

namespace po = boost::program_options;

namespace sinew::bench {

LaunchBenchOptions parse_launch_options(int argc, char** argv) {
    LaunchBenchOptions options;
    std::string ranks = "2,16,64";
    po::options_description flags;
    // clang-format off
    flags.add_options()
        ("ranks", po::value(&ranks))
        ("rounds", po::value(&options.rounds))
        ("json", po::value(&options.json))
        ("plot", po::value(&options.plot))
        ("help,h", po::bool_switch(&options.help));
    // clang-format on
    parse_flags(argc, argv, flags);
    options.ranks = parse_counts("ranks", ranks, 4096);
    require_rounds(options.rounds);
    return options;
}

std::string launch_help() {
    return
        R"(launch [flags]: starts an MPI program of N ranks with `sinew run` and with mpirun, in turns.

  --ranks LIST      numbers of ranks                                  (2,16,64)
  --rounds N        starts by each, one after the other               (9)
  --json FILE       the medians as JSON
  --plot FILE.svg   init over ranks, drawn by gnuplot

init: from the launcher's start to the last rank past MPI_Init. total: to the launcher's end. cpu: of
the launcher and all it started. In ms, medians; `ratio` compares the two starts of one round, median
of the rounds: above 1 sinew run takes less time.
)";
}

}  // namespace sinew::bench
