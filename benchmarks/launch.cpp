// SPDX-License-Identifier: Apache-2.0
// Compares `sinew run` with mpirun, alternating: the time until all ranks have passed MPI_Init.
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "benchmarks/launch/options.hpp"
#include "benchmarks/launch/plot.hpp"
#include "benchmarks/launch/trial.hpp"
#include "benchmarks/support/gnuplot.hpp"
#include "benchmarks/support/program.hpp"
#include "benchmarks/support/progress.hpp"
#include "benchmarks/support/statistics.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {
namespace {

struct Row {
    int ranks = 0;
    std::vector<Trial> ours, peers;
};

std::vector<double> column(std::vector<Trial> const& trials, double Trial::*value) {
    std::vector<double> found;
    for (auto const& trial : trials) found.push_back(trial.*value);
    return found;
}

struct Measure {
    char const* name;
    double Trial::*value;
};
constexpr Measure measures[] = {
    {"init", &Trial::init}, {"total", &Trial::total}, {"cpu", &Trial::cpu}};

void print(Row const& row) {
    std::cout << std::setw(5) << row.ranks << std::fixed;
    for (auto const& [name, value] : measures) {
        auto const ours = column(row.ours, value), peers = column(row.peers, value);
        std::cout << std::setprecision(0) << std::setw(9) << median(ours) * 1e3 << std::setw(9)
                  << median(peers) * 1e3 << std::setprecision(2) << std::setw(7)
                  << median(ratios(peers, ours));
    }
    std::cout << std::endl;
}

nlohmann::json json(Row const& row) {
    nlohmann::json entry{{"ranks", row.ranks}, {"rounds", row.ours.size()}};
    for (auto const& [name, value] : measures) {
        auto const ours = column(row.ours, value), peers = column(row.peers, value);
        entry[name] = {{"sinew_s", median(ours)},
                       {"mpirun_s", median(peers)},
                       {"ratio", median(ratios(peers, ours))}};
    }
    return entry;
}

StartTimes start_times(Row const& row) {
    return {.ranks = row.ranks,
            .init = {{"sinew run", median(column(row.ours, &Trial::init))},
                     {"mpirun", median(column(row.peers, &Trial::init))}}};
}

Row measure(int ranks, int rounds, std::filesystem::path const& build) {
    auto const program = (build / "bench/mpi_init_rank").string();
    auto const count = std::to_string(ranks);
    std::vector<std::string> const ours{(build / "bin/sinew").string(), "run", "-n", count,
                                        program};
    std::vector<std::string> const peer{SINEW_MPIEXEC, "--oversubscribe", "-n", count, program};
    constexpr double limit = 180;
    Row row{.ranks = ranks, .ours = {}, .peers = {}};
    Progress progress(true);
    for (int round = 0; round < rounds; ++round) {
        progress.show(text(ranks, " ranks, round ", round + 1, " of ", rounds));
        // The order alternates, because the second launcher profits from warm caches.
        for (int turn = 0; turn < 2; ++turn)
            if ((turn + round) % 2 == 0) row.ours.push_back(run_trial(ours, ranks, limit));
            else row.peers.push_back(run_trial(peer, ranks, limit));
    }
    return row;
}

int run(int argc, char** argv) {
    auto const options = parse_launch_options(argc, argv);
    if (options.help) {
        std::cout << launch_help();
        return 0;
    }
    if (!options.plot.empty()) require_gnuplot();
    // Use the launcher of this build; allow mpirun to run as root.
    auto const build = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
    std::cout
        << "# medians of " << options.rounds << " rounds in turns; ratio > 1: ours is better\n"
        << "              init, ms                total, ms                  cpu, ms\n"
           "ranks    sinew   mpirun  ratio    sinew   mpirun  ratio    sinew   mpirun  ratio\n";
    nlohmann::json rows = nlohmann::json::array();
    std::vector<StartTimes> times;
    for (int const ranks : options.ranks) {
        auto const row = measure(ranks, options.rounds, build);
        print(row);
        rows.push_back(json(row));
        times.push_back(start_times(row));
    }
    if (!options.json.empty()) write_file(options.json, rows.dump(2) + '\n');
    if (!options.plot.empty())
        draw(start_plot_script(times, options.rounds, options.plot), options.plot);
    return 0;
}

}  // namespace
}  // namespace sinew::bench

int main(int argc, char** argv) {
    return sinew::bench::run_program("launch", sinew::bench::run, argc, argv);
}
