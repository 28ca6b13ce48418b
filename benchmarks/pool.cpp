// SPDX-License-Identifier: Apache-2.0
// Our Pool beside others', in turns. --help says how to use it.
#include <algorithm>
#include <csignal>
#include <iostream>
#include <sinew/error.hpp>
#include <sinew/init.hpp>

#include "benchmarks/pool/contestant.hpp"
#include "benchmarks/pool/options.hpp"
#include "benchmarks/pool/report.hpp"
#include "benchmarks/support/autogroup.hpp"
#include "benchmarks/support/program.hpp"
#include "benchmarks/support/progress.hpp"
#include "benchmarks/support/statistics.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {
namespace {

/// A contestant, how much it does in a turn, and what its turns gave.
struct Runner {
    std::string name;
    double goal;
    std::unique_ptr<Contestant> contestant;
    std::uint64_t units = 0;
    std::vector<double> values = {};

    /// As much as fills the time, which warms up, too.
    void calibrate(Case const& what, double wanted) {
        units = what.size;
        if (units > 0) return;
        constexpr std::uint64_t most = 20'000'000;
        units = what.at_least;
        double seconds = contestant->cost(units);
        for (; seconds < wanted / 4 && units < most; seconds = contestant->cost(units)) units *= 2;
        auto const fits = static_cast<std::uint64_t>(static_cast<double>(units) * wanted / seconds);
        units = std::max<std::uint64_t>(1, std::min(fits, most) / what.at_least) * what.at_least;
    }
    void turn(Case const& what) { values.push_back(what.value(contestant->cost(units), units)); }
};

/// Peers that turned out not to be there are told of once, and not asked again.
class Field {
public:
    explicit Field(PoolBenchOptions const& options) : options_(options), peers_(options.peers) {}

    Row measure(Case const& what, int workers) {
        std::vector<Runner> runners;
        runners.push_back({"ours", 0, make_ours(what, workers)});
        for (auto const& rival : what.rivals) add(rival, what, workers, runners);
        Progress progress(true);
        progress.show(text(what.name, ", ", workers, " workers"));
        for (auto& each : runners) attempt(each, [&] { each.calibrate(what, options_.seconds); });
        for (int round = 0; round < options_.rounds; ++round) {
            progress.show(text(what.name, ", ", workers, " workers, round ", round + 1, " of ",
                               options_.rounds));
            // Who comes first changes: what one leaves behind in caches is the other's gain.
            for (std::size_t i = 0; i < runners.size(); ++i) {
                auto& each = runners[(i + static_cast<std::size_t>(round)) % runners.size()];
                attempt(each, [&] { each.turn(what); });
            }
        }
        return summary(what, workers, runners);
    }

private:
    void add(Rival const& rival, Case const& what, int workers, std::vector<Runner>& runners) {
        if (auto floor = make_floor(rival.name, what, workers)) {
            runners.push_back({std::string(rival.name), rival.goal, std::move(floor)});
            return;
        }
        auto const peer = std::find(peers_.begin(), peers_.end(), rival.name);
        if (peer == peers_.end()) return;
        try {
            runners.push_back(
                {std::string(rival.name), rival.goal, make_python(rival.name, what, workers)});
        } catch (Unavailable const& problem) {
            std::cerr << "pool: " << problem.what() << std::endl;
            peers_.erase(peer);
        }
    }

    /// A peer that fails is out of this case; we are not excused.
    template <class Work>
    static void attempt(Runner& runner, Work const& work) {
        if (!runner.contestant) return;
        try {
            work();
        } catch (std::exception const& problem) {
            if (runner.name == "ours") throw;
            std::cerr << "pool: " << runner.name << " failed: " << problem.what() << std::endl;
            runner.contestant.reset();
        }
    }

    static Row summary(Case const& what, int workers, std::vector<Runner> const& runners) {
        auto const& ours = runners.front();
        Row row{what, workers, median(ours.values), {}, ours.contestant->note()};
        if (auto const worst = ours.contestant->worst()) row.max = what.value(*worst, 1);
        for (std::size_t i = 1; i < runners.size(); ++i) {
            auto const& rival = runners[i];
            if (!rival.contestant) continue;
            std::vector<double> ratio;
            for (std::size_t round = 0; round < rival.values.size(); ++round)
                ratio.push_back(what.ratio(ours.values[round], rival.values[round]));
            row.beside.push_back({rival.name, median(rival.values), median(ratio), rival.goal});
        }
        return row;
    }

    PoolBenchOptions const& options_;
    std::vector<std::string> peers_;
};

/// All rows of a case; false when one of them failed.
bool measure(Case const& what, PoolBenchOptions const& options, Field& field,
             std::vector<Row>& rows) {
    auto const counts = what.workers > 0 ? std::vector{what.workers} : options.workers;
    bool well = true;
    for (int const workers : counts) {
        try {
            print(std::cout, rows.emplace_back(field.measure(what, workers)));
        } catch (std::exception const& problem) {
            std::cerr << "pool: " << what.name << ", " << workers << " workers: " << problem.what()
                      << std::endl;
            well = false;
        }
    }
    return well;
}

int run(int argc, char** argv) {
    auto const options = parse_pool_options(argc, argv);
    if (options.help) {
        std::cout << pool_help();
        return 0;
    }
    ::signal(SIGPIPE, SIG_IGN);  // a peer that ended early is an error that we report
    AutogroupWeight const weight(options.autogroup_nice);
    if (!weight.problem().empty()) std::cerr << "pool: " << weight.problem() << std::endl;
    std::cout << "# medians of " << options.rounds << " rounds in turns; ratio > 1: ours is better"
              << std::endl;
    print_header(std::cout);
    Field field(options);
    std::vector<Row> rows;
    bool well = true;
    for (auto const& each : options.cases) well = measure(each, options, field, rows) && well;
    if (!options.json.empty()) {
        std::string lines;
        for (auto const& row : rows) lines += json_line(row) + '\n';
        write_file(options.json, lines);
    }
    return well ? 0 : 1;
}

}  // namespace
}  // namespace sinew::bench

int main(int argc, char** argv) {
    sinew::init(argc, argv);
    return sinew::bench::run_program("pool", sinew::bench::run, argc, argv);
}
