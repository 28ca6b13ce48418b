// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/pool/options.hpp"

#include <iomanip>
#include <sstream>

#include "benchmarks/support/flags.hpp"

namespace po = boost::program_options;

namespace sinew::bench {

namespace {

constexpr char const* usage =
    R"(pool [flags]: sinew's Pool, queues and pipes and those of Python, in turns.

  --cases LIST   names from the list below, or all                   (all)
  --workers LIST how many workers                                    (2,4)
  --peers LIST   multiprocessing, mpi4py, dask; all, or none         (all)
  --rounds N     turns of each, one after the other                  (7)
  --seconds S    length of a turn, where the case does not fix it    (0.5)
  --json FILE    a line of JSON for each row of the table
  --autogroup-nice N   weight of this session among others on the machine, e.g. -15; 0 afterwards

Examples:  pool --cases noop-map,apply --workers 2 --peers multiprocessing
           pool --rounds 15 --json pool.json

Values are medians of the rounds. `ratio` is the median over the rounds of ours to theirs in the same
round; above 1 ours is better, for rates and times alike. All have as many workers, ready before
the clock starts; peers do as much as fills their turn, so that a slow one need not do what a fast
one does. multiprocessing maps in its default chunks, mpi4py in chunks of the same size (its default
is slower by far). Floors: `nanosleep` and `ideal` (skew) are as many threads that take sleeps off a
shared counter, with timers as exact as our workers'; `ideal` (fiber) is 1 s, as if a sleep of 1 ms
took 1 ms; `no-kills` is the same pool without kills; `10-workers` the same master with fewer; `goal` a
number of bytes. kill-redispatch and kill-replacement time each kill: a turn's value is the median of
its kills, max is of all; the former needs 2 workers, so that another has nothing to do.

Cases (workers, where the case fixes them):
)";

}  // namespace

PoolBenchOptions parse_pool_options(int argc, char** argv) {
    PoolBenchOptions options;
    std::string cases = "all", workers = "2,4", peers = "all";
    po::options_description flags;
    // clang-format off
    flags.add_options()
        ("cases", po::value(&cases))
        ("workers", po::value(&workers))
        ("peers", po::value(&peers))
        ("rounds", po::value(&options.rounds))
        ("seconds", po::value(&options.seconds))
        ("json", po::value(&options.json))
        ("autogroup-nice", po::value<int>())
        ("help,h", po::bool_switch(&options.help));
    // clang-format on
    auto const given = parse_flags(argc, argv, flags);
    options.autogroup_nice = optional_int(given, "autogroup-nice");
    options.cases = parse_cases(cases);
    options.peers = parse_peers(peers);
    options.workers = parse_counts("workers", workers, 1024);
    require_rounds(options.rounds);
    require_seconds(options.seconds);
    return options;
}

std::string pool_help() {
    std::ostringstream out;
    out << usage;
    for (auto const& each : all_cases()) {
        out << "  " << std::left << std::setw(18) << each.name << each.what << ", " << each.unit;
        if (each.workers > 0) out << " (" << each.workers << ")";
        out << '\n';
    }
    return std::move(out).str();
}

}  // namespace sinew::bench
