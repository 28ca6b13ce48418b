// SPDX-License-Identifier: Apache-2.0
//
// Evolution strategies, updated in two ways in one run. In the first, a master gathers all returns
// through a Pool and sums all noise itself. In the second, ranks exchange (member, return), sum a
// share each, and combine the sums by a ring allreduce. sinew run -n 4 ./es, or mpirun, or ./es
// alone.
#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <optional>
#include <ranges>
#include <sinew/error.hpp>
#include <sinew/init.hpp>
#include <sinew/pool.hpp>
#include <sinew/shared.hpp>
#include <sinew/world.hpp>
#include <span>
#include <vector>

namespace {

struct Setting {
    std::uint32_t population = 2048, weights = 1000, iterations = 40, steps = 8;
    int workers = 0;
    double sigma = 0.1, rate = 0.3;
};

std::uint64_t scramble(std::uint64_t x) {  // splitmix64
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

/// Normal random numbers, the same in every process; a member's noise is a range of them.
using NoiseTable = sinew::Shared<float[]>;
NoiseTable noise_table() {
    std::vector<float> numbers(1 << 20);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        double const u = static_cast<double>((scramble(2 * i) >> 11) + 1) * 0x1p-53;
        double const v = static_cast<double>(scramble(2 * i + 1) >> 11) * 0x1p-53;
        numbers[i] = static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(6.2831853 * v));
    }
    return sinew::share(std::span(numbers));
}

/// Members come in pairs with opposite noise, so that what the two have in common cancels out.
struct Noise {
    float const* values;
    float sign;
};
Noise noise_of(NoiseTable const& shared, std::uint32_t iteration, std::uint32_t member,
               std::size_t weights) {
    auto const table = shared.get();
    auto const number = std::uint64_t{iteration} << 32 | member / 2;
    auto const offset = scramble(number) % (table.size() - weights);
    return {table.data() + offset, member % 2 == 0 ? 1.0F : -1.0F};
}

/// An episode of a fixed number of steps: every weight has a best value, and the cost of a step is
/// the squared distance of the weights from it. Returns the negative mean cost, at most 0.
float episode(std::vector<float> const& weights, std::uint32_t steps) {
    double cost = 0;
    for (std::uint32_t step = 0; step < steps; ++step) {
        float here = 0;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            float const best = (i + step) % 2 == 0 ? 1.0F : -1.0F;
            float const off = weights[i] * (step % 2 == 0 ? 1.0F : -1.0F) - best;
            here += off * off;
        }
        cost += here;
    }
    return static_cast<float>(-cost / steps / static_cast<double>(weights.size()));
}

/// The task. It is sent with the weights once per iteration and worker, not once per member. Only a
/// handle of the noise is sent: all workers of a host read the same memory.
struct Rollout {
    std::optional<NoiseTable> table;
    std::vector<float> weights;
    std::uint32_t iteration = 0, steps = 0;
    float sigma = 0;

    float operator()(std::uint32_t member) const {
        auto const noise = noise_of(*table, iteration, member, weights.size());
        std::vector<float> tried(weights);
        for (std::size_t i = 0; i < tried.size(); ++i)
            tried[i] += sigma * noise.sign * noise.values[i];
        return episode(tried, steps);
    }
    template <class Archive>
    void serialize(Archive& archive) {
        archive(table, weights, iteration, steps, sigma);
    }
};

/// Replaces returns by their ranks, from -0.5 for the worst to 0.5, against outliers.
std::vector<float> shape(std::vector<float> const& returns) {
    std::vector<std::uint32_t> order(returns.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [&](std::uint32_t member) {
        return std::pair(returns[member], member);  // ties have the same order on all ranks
    });
    std::vector<float> shaped(returns.size());
    for (std::size_t place = 0; place < order.size(); ++place)
        shaped[order[place]] =
            static_cast<float>(place) / static_cast<float>(order.size() - 1) - 0.5F;
    return shaped;
}

/// Sums the noise of the members first .. last - 1, each multiplied by its shaped return.
std::vector<float> summed(NoiseTable const& table, std::vector<float> const& shaped,
                          std::uint32_t first, std::uint32_t last, std::uint32_t iteration,
                          std::size_t weights) {
    std::vector<float> sum(weights);
    for (std::uint32_t member = first; member < last; ++member) {
        auto const noise = noise_of(table, iteration, member, weights);
        float const factor = noise.sign * shaped[member];
        for (std::size_t i = 0; i < weights; ++i) sum[i] += factor * noise.values[i];
    }
    return sum;
}

void step_along(std::vector<float>& weights, std::vector<float> const& sum,
                Setting const& setting) {
    double const factor = setting.rate / (setting.population * setting.sigma);
    for (std::size_t i = 0; i < weights.size(); ++i)
        weights[i] += static_cast<float>(factor) * sum[i];
}

struct Outcome {
    double seconds = 0;
    float start = 0, end = 0;  ///< returns of the unperturbed weights
};

/// Calls `returns(rollout)` and `sum(shaped, iteration)`, which returns the sum over all members.
template <class Returns, class Sum>
Outcome evolve(Setting const& setting, NoiseTable const& table, Returns const& returns,
               Sum const& sum) {
    Rollout rollout{table, std::vector<float>(setting.weights), 0, setting.steps,
                    static_cast<float>(setting.sigma)};
    Outcome outcome;
    outcome.start = episode(rollout.weights, setting.steps);
    auto const begin = std::chrono::steady_clock::now();
    for (; rollout.iteration < setting.iterations; ++rollout.iteration)
        step_along(rollout.weights, sum(shape(returns(rollout)), rollout.iteration), setting);
    outcome.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    outcome.end = episode(rollout.weights, setting.steps);
    return outcome;
}

/// The first way: tasks compute the returns, and the master sums alone. Other ranks host workers.
Outcome by_pool(sinew::Communicator& comm, Setting const& setting, NoiseTable const& table) {
    sinew::PoolOptions options;
    options.workers = setting.workers > 0 ? setting.workers : comm.size();
    options.progress = sinew::Progress::off;
    sinew::Pool pool(comm, options);
    if (comm.rank() != 0) return {};
    pool.wait_until_workers_up();
    auto const members = sinew::range(0U, setting.population);
    return evolve(
        setting, table, [&](Rollout const& rollout) { return pool.map(rollout, members); },
        [&](std::vector<float> const& shaped, std::uint32_t iteration) {
            return summed(table, shaped, 0, setting.population, iteration, setting.weights);
        });
}

/// The second way: each rank evaluates its share of the members and sums their noise.
Outcome by_ranks(sinew::Communicator& comm, Setting const& setting, NoiseTable const& table) {
    auto const size = static_cast<std::uint32_t>(comm.size());
    auto const rank = static_cast<std::uint32_t>(comm.rank());
    auto const begin_of = [&](std::uint64_t of) {
        return static_cast<std::uint32_t>(setting.population * of / size);
    };
    std::uint32_t const first = begin_of(rank), last = begin_of(rank + 1);
    std::vector<std::size_t> counts;
    for (std::uint32_t each = 0; each < size; ++each)
        counts.push_back(begin_of(each + 1) - begin_of(each));
    comm.barrier();
    return evolve(
        setting, table,
        [&](Rollout const& rollout) {
            std::vector<float> returns(setting.population);
            for (std::uint32_t member = first; member < last; ++member)
                returns[member] = rollout(member);
            comm.allgatherv(returns, counts);
            return returns;
        },
        [&](std::vector<float> const& shaped, std::uint32_t iteration) {
            auto sum = summed(table, shaped, first, last, iteration, setting.weights);
            comm.allreduce(sum, sinew::sum, {.algorithm = "ring"});
            return sum;
        });
}

void print(char const* way, Outcome const& outcome) {
    std::cout << way << outcome.seconds << " s, return from " << outcome.start << " to "
              << outcome.end << '\n';
}

bool converged(Outcome const& outcome) { return outcome.end > outcome.start / 10; }

/// Returns false if one of the ways did not converge.
bool compare(sinew::Communicator& comm, Setting const& setting) {
    auto const table = noise_table();
    auto const pool = by_pool(comm, setting, table);
    auto const ranks = by_ranks(comm, setting, table);
    if (comm.rank() != 0) return true;
    std::cout << setting.population << " members, " << setting.weights << " weights, "
              << setting.iterations << " iterations; " << comm.size() << " ranks\n";
    print("pool, central gather:  ", pool);
    print("ranks, ring allreduce: ", ranks);
    std::cout << "the ranks take " << ranks.seconds / pool.seconds << " of the pool's time\n";
    if (converged(pool) && converged(ranks)) return true;
    std::cerr << "es: no convergence (the return must rise to a tenth of where it began). Try more "
                 "--iterations.\n";
    return false;
}

/// Returns false if only help was asked for.
bool parse(int argc, char** argv, Setting& setting) {
    namespace po = boost::program_options;
    po::options_description flags("Evolution strategies: a Pool compared with ranks and allreduce");
    auto add = flags.add_options();
    add("population", po::value(&setting.population)->default_value(setting.population), "members");
    add("weights", po::value(&setting.weights)->default_value(setting.weights), "to be learnt");
    add("iterations", po::value(&setting.iterations)->default_value(setting.iterations), "updates");
    add("steps", po::value(&setting.steps)->default_value(setting.steps), "in an episode");
    add("workers", po::value(&setting.workers), "of the pool; without: as many as ranks");
    add("help", "print this");
    po::variables_map given;
    po::store(po::parse_command_line(argc, argv, flags), given);
    po::notify(given);
    if (given.count("help")) std::cout << flags;
    if (setting.population < 2 || setting.weights < 1 || setting.weights > 1 << 19 ||
        setting.steps < 1)
        throw sinew::UsageError(
            "--population must be 2 or more, --steps and --weights 1 or more, "
            "--weights at most 524288");
    return !given.count("help");
}

}  // namespace

int main(int argc, char** argv) {
    sinew::init(argc, argv);  // must come first: workers run this same program and end inside it
    try {
        Setting setting;
        if (!parse(argc, argv, setting)) return 0;
        sinew::World world(argc, argv);
        return compare(world.communicator(), setting) ? 0 : 1;
    } catch (std::exception const& error) {
        std::cerr << "es: " << error.what() << '\n';
        return 1;
    }
}
