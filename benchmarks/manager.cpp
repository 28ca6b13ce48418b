// SPDX-License-Identifier: Apache-2.0
// Compares sinew's Manager with others, alternating. See --help.
#include <iostream>
#include <sinew/init.hpp>

#include "benchmarks/manager/contestants.hpp"
#include "benchmarks/manager/options.hpp"
#include "benchmarks/support/machine/autogroup.hpp"
#include "benchmarks/support/program.hpp"

namespace sinew::bench {
namespace {

int run(int argc, char** argv) {
    auto const options = parse_manager_options(argc, argv);
    if (options.help) {
        std::cout << manager_help();
        return 0;
    }
    AutogroupWeight const weight(options.autogroup_nice);
    if (!weight.problem().empty()) std::cerr << "manager: " << weight.problem() << std::endl;
    auto const step = options.step;
    Turns turns(
        {"manager", options.rounds, options.seconds, options.peers},
        {.ours = [step](Case const& what,
                        int managers) { return make_our_objects(what, managers, step); },
         .floor = [step](std::string_view name, Case const& what,
                         int managers) { return make_our_lockstep(name, what, managers, step); },
         .peer = [step](std::string_view name, Case const& what,
                        int managers) { return make_call_peer(name, what, managers, step); }});
    bool well = true;
    for (auto const& each : options.cases) well = turns.measure(each, each.workers) && well;
    if (!options.json.empty()) write_file(options.json, turns.json_lines());
    return well ? 0 : 1;
}

}  // namespace
}  // namespace sinew::bench

int main(int argc, char** argv) {
    sinew::init(argc, argv);
    return sinew::bench::run_program("manager", sinew::bench::run, argc, argv);
}
