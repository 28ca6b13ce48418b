// SPDX-License-Identifier: Apache-2.0
// Prints what the tuner's cost model expects of large clusters. See --help.
#include <iostream>

#include "benchmarks/simulate/options.hpp"
#include "benchmarks/simulate/output.hpp"
#include "benchmarks/support/gnuplot.hpp"
#include "benchmarks/support/program.hpp"

namespace sinew::bench {
namespace {

int run(int argc, char** argv) {
    auto const options = parse_simulate_options(argc, argv);
    if (options.help) {
        std::cout << simulate_help();
        return 0;
    }
    if (!options.plot.empty()) require_gnuplot();
    std::cout << "# " << name(options.collective) << " by the cost model, times in us\n"
              << simulation_table(options);
    if (!options.json.empty()) write_file(options.json, simulation_json(options));
    if (!options.plot.empty()) draw(simulation_plot(options), options.plot);
    return 0;
}

}  // namespace
}  // namespace sinew::bench

int main(int argc, char** argv) {
    return sinew::bench::run_program("simulate", sinew::bench::run, argc, argv);
}
