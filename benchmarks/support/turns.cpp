// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/turns.hpp"

#include <algorithm>
#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sinew/error.hpp>

#include "benchmarks/support/machine/waiting.hpp"
#include "benchmarks/support/progress.hpp"
#include "benchmarks/support/statistics.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

/// A contestant, its units per turn, and the values of its turns.
struct Turns::Runner {
    std::string name;
    double goal;
    std::unique_ptr<Contestant> contestant;
    std::uint64_t units = 0;
    std::vector<double> values = {};

    /// Finds the units that fill the time. This also warms up.
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

namespace {

template <class Runner>
CaseRow summary(Case const& what, int workers, std::vector<Runner> const& runners) {
    auto const& ours = runners.front();
    CaseRow row{what, workers, median(ours.values), {}, ours.contestant->note()};
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

}  // namespace

Turns::Turns(TurnOptions options, Entrants entrants)
    : options_(std::move(options)), entrants_(std::move(entrants)) {
    ::signal(SIGPIPE, SIG_IGN);
    std::cout << "# medians of " << options_.rounds << " rounds in turns; ratio > 1: ours is better"
              << "\n# " << waiting_text() << std::endl;
    print_header(std::cout);
}

bool Turns::measure(Case const& what, int workers) {
    try {
        print(std::cout, rows_.emplace_back(row_of(what, workers)));
        return true;
    } catch (std::exception const& problem) {
        std::cerr << options_.program << ": " << what.name << ", " << workers
                  << " workers: " << problem.what() << std::endl;
        return false;
    }
}

std::string Turns::json_lines() const {
    std::string lines;
    auto const waiting = waiting_json().dump();
    for (auto const& row : rows_) {
        auto line = json_line(row);
        line.insert(line.size() - 1, ",\"waiting\":" + waiting);
        lines += line + '\n';
    }
    return lines;
}

CaseRow Turns::row_of(Case const& what, int workers) {
    std::vector<Runner> runners;
    runners.push_back({"ours", 0, entrants_.ours(what, workers)});
    for (auto const& rival : what.rivals) add(rival, what, workers, runners);
    Progress progress(true);
    progress.show(text(what.name, ", ", workers, " workers"));
    for (auto& each : runners) attempt(each, [&] { each.calibrate(what, options_.seconds); });
    for (int round = 0; round < options_.rounds; ++round) {
        progress.show(
            text(what.name, ", ", workers, " workers, round ", round + 1, " of ", options_.rounds));
        // The order rotates, because later contestants profit from caches that earlier ones filled.
        for (std::size_t i = 0; i < runners.size(); ++i) {
            auto& each = runners[(i + static_cast<std::size_t>(round)) % runners.size()];
            attempt(each, [&] { each.turn(what); });
        }
    }
    return summary(what, workers, runners);
}

void Turns::add(Rival const& rival, Case const& what, int workers, std::vector<Runner>& runners) {
    if (auto floor = entrants_.floor(rival.name, what, workers)) {
        runners.push_back({std::string(rival.name), rival.goal, std::move(floor)});
        return;
    }
    auto const peer = std::find(options_.peers.begin(), options_.peers.end(), rival.name);
    if (peer == options_.peers.end()) return;
    try {
        runners.push_back(
            {std::string(rival.name), rival.goal, entrants_.peer(rival.name, what, workers)});
    } catch (Unavailable const& problem) {
        std::cerr << options_.program << ": " << problem.what() << std::endl;
        options_.peers.erase(peer);
    }
}

void Turns::attempt(Runner& runner, std::function<void()> const& work) {
    if (!runner.contestant) return;
    try {
        work();
    } catch (std::exception const& problem) {
        if (runner.name == "ours") throw;
        std::cerr << options_.program << ": " << runner.name << " failed: " << problem.what()
                  << std::endl;
        runner.contestant.reset();
    }
}

}  // namespace sinew::bench
