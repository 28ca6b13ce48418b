// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/manager/options.hpp"

#include <iomanip>
#include <sstream>

#include "benchmarks/support/flags.hpp"

namespace po = boost::program_options;

namespace sinew::bench {

namespace {

constexpr char const* usage =
    R"(manager [flags]: calls of objects in sinew's Manager and of other libraries, in turns.

  --cases LIST   names from the list below, or all                   (all)
  --peers LIST   multiprocessing, grpc; all, or none                 (all)
  --rounds N     turns of each, one after the other                  (7)
  --seconds S    length of a turn of sync and async                  (0.5)
  --managers N   of demo and device, each with a simulator           (4)
  --steps N      of each simulator                                   (5000)
  --step-us N    how long a step takes                               (100)
  --json FILE    a line of JSON for each row of the table
  --autogroup-nice N   weight of this session among others on the machine, e.g. -15; 0 afterwards

Examples:  manager --cases sync,async --peers multiprocessing
           manager --rounds 15 --json manager.json

Values are medians of the rounds. `ratio` is the median over the rounds of ours to theirs in the same
round; above 1 ours is better, for rates and times alike. All managers and servers are up before the
clock starts; peers do as much as fills their turn. All are on this machine and use Unix sockets.

sync: a method that adds a number and returns the sum. multiprocessing is a registered class behind its
proxy, grpc (C++) a unary call of its synchronous stub.
async: ours with up to 1,000 calls under way, each result read; grpc with 32, over a completion
queue; multiprocessing has no such calls, and makes those of sync.
demo: 4 simulators of a cart with a pole, each in a manager of its own. A step of all, then the next;
the direction depends on the observation. Ours makes the 4 calls at once; `sync` is ours, one call
after the other; multiprocessing makes them from 4 threads at once. A step uses processor time, so that
there must be a processor for each manager, and one for the caller, for all steps to run at once.
device: the same, but a step only waits, as when the simulators run on devices of their own: the
steps run at once however few processors there are (and each takes longer by the time of a wake-up).

Cases (managers):
)";

}  // namespace

ManagerBenchOptions parse_manager_options(int argc, char** argv) {
    ManagerBenchOptions options;
    std::string cases = "all", peers = "all";
    int managers = 4, steps = 5000, step_us = 100;
    po::options_description flags;
    // clang-format off
    flags.add_options()
        ("cases", po::value(&cases))
        ("peers", po::value(&peers))
        ("rounds", po::value(&options.rounds))
        ("seconds", po::value(&options.seconds))
        ("managers", po::value(&managers))
        ("steps", po::value(&steps))
        ("step-us", po::value(&step_us))
        ("json", po::value(&options.json))
        ("autogroup-nice", po::value<int>())
        ("help,h", po::bool_switch(&options.help));
    // clang-format on
    auto const given = parse_flags(argc, argv, flags);
    options.autogroup_nice = optional_int(given, "autogroup-nice");
    options.peers = parse_manager_peers(peers);
    require_rounds(options.rounds);
    require_seconds(options.seconds);
    require_within("managers", managers, 1, 256);
    require_within("steps", steps, 1, 10'000'000);
    require_within("step-us", step_us, 0, 1'000'000);
    options.step = std::chrono::microseconds(step_us);
    for (auto const& each : parse_manager_cases(cases))
        options.cases.push_back(is_demo(each) ? resized_demo(each, managers, steps) : each);
    return options;
}

std::string manager_help() {
    std::ostringstream out;
    out << usage;
    for (auto const& each : manager_cases())
        out << "  " << std::left << std::setw(8) << each.name << each.what << ", " << each.unit
            << " (" << each.workers << ")\n";
    return std::move(out).str();
}

}  // namespace sinew::bench
