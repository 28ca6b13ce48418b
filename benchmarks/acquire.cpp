// SPDX-License-Identifier: Apache-2.0
//
// How long 64 workers take to be ready on acquired nodes, with one node agent for a group of workers and
// with one for each: `acquire [--workers N] [--groups 4,16,64] [--repetitions N]`.
#include <algorithm>
#include <boost/program_options.hpp>
#include <chrono>
#include <iostream>
#include <sinew/init.hpp>
#include <sinew/nodes.hpp>
#include <sinew/pool.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace po = boost::program_options;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Seconds until all nodes have joined, and until all workers are ready.
struct Times {
    double nodes = 0, workers = 0;
};

Times start(int nodes, int workers) {
    auto const begin = Clock::now();
    auto const acquired = sinew::Nodes::acquire(
        {.count = nodes, .backend = "local", .meta = {.cpu = workers / nodes}, .minimum = nodes});
    Times times{.nodes = since(begin)};
    sinew::Pool pool(acquired);
    pool.wait_until_workers_up();
    times.workers = since(begin);
    return times;
}

Times median(std::vector<Times> all) {
    std::ranges::sort(all, {}, &Times::workers);
    return all[all.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
    sinew::init(argc, argv);
    int workers = 64, repetitions = 5;
    std::string groups = "4,16,64";
    po::options_description flags("Flags");
    flags.add_options()("help,h", "show this")(
        "workers", po::value(&workers)->default_value(workers), "workers in all")(
        "groups", po::value(&groups)->default_value(groups), "numbers of nodes")(
        "repetitions", po::value(&repetitions)->default_value(repetitions), "of each");
    po::variables_map given;
    try {
        po::store(po::parse_command_line(argc, argv, flags), given);
        po::notify(given);
    } catch (po::error const& problem) {
        std::cerr << "acquire: " << problem.what() << '\n';
        return 2;
    }
    if (given.contains("help")) {
        std::cout << flags;
        return 0;
    }
    std::cout
        << "nodes x workers each: seconds until the nodes have joined, the workers are ready\n";
    std::istringstream words(groups);
    for (std::string word; std::getline(words, word, ',');) {
        int const nodes = std::stoi(word);
        if (nodes < 1 || workers % nodes != 0) {
            std::cerr << "acquire: " << workers << " workers on " << word
                      << " nodes (must be a divisor)\n";
            return 2;
        }
        std::vector<Times> all;
        for (int i = 0; i < std::max(repetitions, 1); ++i) all.push_back(start(nodes, workers));
        auto const times = median(all);
        std::cout << nodes << " x " << workers / nodes << ": " << times.nodes << ", "
                  << times.workers << std::endl;
    }
}
