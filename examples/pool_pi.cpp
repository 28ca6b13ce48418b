// SPDX-License-Identifier: Apache-2.0
//
// Estimates pi by throwing darts, one task per dart: ./pool_pi --workers 4 --samples 1000000
// Started as several ranks, it spreads the workers over their nodes: sinew run -n 2 -H a,b ./pool_pi
// With --nodes 4 it acquires nodes itself: pods on Kubernetes, else hosts or processes.
#include <boost/program_options.hpp>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <ranges>
#include <sinew/init.hpp>
#include <sinew/nodes.hpp>
#include <sinew/pool.hpp>
#include <sinew/world.hpp>

namespace {

/// Returns a pseudorandom number in [0, 1) for each input (splitmix64).
double random_number(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

/// The task: whether the dart with this number hits the quarter circle.
bool inside(std::uint64_t dart) {
    double const x = random_number(2 * dart), y = random_number(2 * dart + 1);
    return x * x + y * y < 1;
}

void estimate(sinew::Pool& pool, std::uint64_t samples) {
    auto const begin = std::chrono::steady_clock::now();
    std::uint64_t hits = 0;
    for (bool const hit : pool.map<inside>(sinew::range(std::uint64_t{0}, samples)))
        hits += hit ? 1 : 0;
    std::chrono::duration<double> const time = std::chrono::steady_clock::now() - begin;

    auto const stats = pool.stats();
    std::cout << "pi is about " << 4.0 * static_cast<double>(hits) / static_cast<double>(samples)
              << '\n'
              << stats.done << " tasks done by " << stats.workers << " workers in " << time.count()
              << " s, starting them included; " << stats.retried << " begun again, " << stats.failed
              << " failed, " << stats.deaths << " workers lost\n";
}

void estimate_on_nodes(int nodes, sinew::PoolOptions const& options, std::uint64_t samples) {
    auto const acquired = sinew::Nodes::acquire({.count = nodes});
    sinew::Pool pool(acquired, options);
    estimate(pool, samples);
}

/// Collective. Ranks other than 0 start workers on their nodes until rank 0 has finished.
void estimate_on_ranks(sinew::World& world, sinew::PoolOptions const& options,
                       std::uint64_t samples) {
    sinew::Pool pool(world.communicator(), options);
    if (world.rank() == 0) estimate(pool, samples);
}

}  // namespace

int main(int argc, char** argv) {
    sinew::init(argc, argv);  // must come first: workers run this same program and end inside it

    namespace po = boost::program_options;
    int workers = 4, nodes = 0;
    std::uint64_t samples = 1'000'000;
    po::options_description flags("Pi by random samples (darts), a task for each");
    flags.add_options()("workers", po::value(&workers)->default_value(workers), "processes")(
        "samples", po::value(&samples)->default_value(samples), "darts")(
        "nodes", po::value(&nodes), "acquire so many nodes for the workers")("help", "print this");
    try {
        po::variables_map given;
        po::store(po::parse_command_line(argc, argv, flags), given);
        po::notify(given);
        if (given.count("help")) {
            std::cout << flags;
            return 0;
        }
        sinew::PoolOptions options;
        options.workers = workers;
        if (nodes > 0) {
            estimate_on_nodes(nodes, options, samples);
            return 0;
        }
        sinew::World world(argc, argv);
        estimate_on_ranks(world, options, samples);
    } catch (std::exception const& error) {
        std::cerr << "pool_pi: " << error.what() << '\n';
        return 1;
    }
}
