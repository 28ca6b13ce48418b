// SPDX-License-Identifier: Apache-2.0
// Compares sinew's Pool with others, alternating. See --help.
#include <iostream>
#include <sinew/init.hpp>

#include "benchmarks/pool/contestant.hpp"
#include "benchmarks/pool/options.hpp"
#include "benchmarks/support/machine/autogroup.hpp"
#include "benchmarks/support/program.hpp"

namespace sinew::bench {
namespace {

int run(int argc, char** argv) {
    auto const options = parse_pool_options(argc, argv);
    if (options.help) {
        std::cout << pool_help();
        return 0;
    }
    AutogroupWeight const weight(options.autogroup_nice);
    if (!weight.problem().empty()) std::cerr << "pool: " << weight.problem() << std::endl;
    Turns turns({"pool", options.rounds, options.seconds, options.peers},
                {make_ours, make_floor, make_python});
    bool well = true;
    for (auto const& each : options.cases)
        for (int const workers : each.workers > 0 ? std::vector{each.workers} : options.workers)
            well = turns.measure(each, workers) && well;
    if (!options.json.empty()) write_file(options.json, turns.json_lines());
    return well ? 0 : 1;
}

}  // namespace
}  // namespace sinew::bench

int main(int argc, char** argv) {
    sinew::init(argc, argv);
    return sinew::bench::run_program("pool", sinew::bench::run, argc, argv);
}
