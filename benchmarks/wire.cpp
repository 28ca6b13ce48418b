// SPDX-License-Identifier: Apache-2.0
// Compares sinew's links with libzmq, each with an echo process, alternating. See --help.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sinew/error.hpp>
#include <string>
#include <vector>

#include "benchmarks/support/flags.hpp"
#include "benchmarks/support/machine/autogroup.hpp"
#include "benchmarks/support/machine/waiting.hpp"
#include "benchmarks/support/program.hpp"
#include "benchmarks/support/statistics.hpp"
#include "benchmarks/support/text.hpp"
#include "benchmarks/wire/contestant.hpp"

namespace po = boost::program_options;

namespace sinew::bench {
namespace {

constexpr char const* usage =
    R"(wire [flags]: messages between two processes, over our links and libzmq's sockets.

  --rounds N    each contestant's turns, one after the other         (9)
  --seconds S   length of one turn                                   (0.1)
  --via WORD    unix, tcp or all                                     (all)
  --json FILE   the medians as JSON
  --autogroup-nice N   weight of this session among others on the machine, e.g. -15; 0 afterwards

round trip: one message there and back, in us. pipelined: messages there and back per second, 64 in
flight. `ratio` compares the two of one round, median of the rounds: above 1 ours is better, whether it is
a time or a rate. Over TCP we always encrypt (TLS 1.3, AES-128-GCM); libzmq is measured with CURVE, which
does, and in the clear. SINEW_SPIN=0 has ours sleep at once while nothing is there, instead of looking
for a moment.
)";

struct Options {
    int rounds = 9;
    double seconds = 0.1;
    std::string via = "all", json;
    std::optional<int> autogroup_nice;
    bool help = false;
};

/// A kind of measurement, and the goal for sinew's result relative to libzmq's.
struct Measure {
    char const* name;
    char const* unit;
    std::size_t bytes;
    long in_flight;
    double goal;  ///< least acceptable ratio
};

constexpr Measure measures[] = {
    {"64 B round trip", "us", 64, 1, 2.0},
    {"64 KiB round trip", "us", 65536, 1, 2.0},
    {"64 B pipelined", "1/s", 64, 64, 3.0},
};

bool is_rate(Measure const& measure) { return measure.in_flight > 1; }

/// One contestant, and the number of messages in a turn of the requested length.
struct Runner {
    Contestant& contestant;
    Measure const& measure;
    long times = 1;

    double seconds() const {
        return measure.in_flight == 1
                   ? contestant.round_trips(measure.bytes, times)
                   : contestant.pipelined(measure.bytes, measure.in_flight, times);
    }
    void calibrate(double wanted) {
        times = 64;  // also warms up
        while (seconds() < wanted / 4) times *= 2;
        times = std::max(64L, static_cast<long>(static_cast<double>(times) * wanted / seconds()));
    }
    double value() const {
        double const each = seconds() / static_cast<double>(times);
        return is_rate(measure) ? 1 / each : each * 1e6;
    }
};

struct Result {
    Measure const* measure;
    std::string ours, theirs;
    bool same_protection;
    double our_value = 0, their_value = 0, ratio = 0;
};

Result compare(Contestant& ours, Contestant* theirs, Measure const& measure,
               Options const& options) {
    Runner mine{ours, measure};
    mine.calibrate(options.seconds);
    std::optional<Runner> other;
    if (theirs != nullptr) other.emplace(Runner{*theirs, measure}).calibrate(options.seconds);
    std::vector<double> our_values, their_values;
    for (int round = 0; round < options.rounds; ++round) {
        our_values.push_back(mine.value());
        if (other) their_values.push_back(other->value());
    }
    Result result{&measure, ours.name() + (ours.encrypted() ? ", TLS" : ""), "", true};
    result.our_value = median(our_values);
    if (theirs == nullptr) return result;
    result.theirs = theirs->name();
    result.same_protection = ours.encrypted() == theirs->encrypted();
    result.their_value = median(their_values);
    result.ratio = median(is_rate(measure) ? ratios(our_values, their_values)
                                           : ratios(their_values, our_values));
    return result;
}

void print_header() {
    std::cout << std::left << std::setw(20) << "" << std::setw(16) << "ours" << std::setw(20)
              << "theirs" << std::right << std::setw(6) << "unit" << std::setw(12) << "ours"
              << std::setw(12) << "theirs" << std::setw(8) << "ratio"
              << "  goal" << std::endl;
}

void print(Result const& result) {
    std::cout << std::left << std::setw(20) << result.measure->name << std::setw(16) << result.ours
              << std::setw(20) << (result.theirs.empty() ? "absent" : result.theirs) << std::right
              << std::setw(6) << result.measure->unit << std::fixed
              << std::setprecision(is_rate(*result.measure) ? 0 : 1) << std::setw(12)
              << result.our_value;
    if (!result.theirs.empty()) {
        std::cout << std::setw(12) << result.their_value << std::setprecision(2) << std::setw(8)
                  << result.ratio;
        // Plain against encrypted is not a fair comparison, so it is shown without a goal.
        if (result.same_protection) {
            std::cout << std::setprecision(1) << "  >= " << result.measure->goal
                      << (result.ratio >= result.measure->goal ? " met" : " MISSED");
        } else {
            std::cout << "  ours encrypted, theirs not";
        }
    }
    std::cout << std::endl;
}

nlohmann::json as_json(std::vector<Result> const& results) {
    auto rows = nlohmann::json::array();
    for (auto const& result : results) {
        nlohmann::json row{{"measure", result.measure->name},
                           {"unit", result.measure->unit},
                           {"ours", result.ours},
                           {"our_value", result.our_value}};
        if (!result.theirs.empty()) {
            row["theirs"] = result.theirs;
            row["their_value"] = result.their_value;
            row["ratio"] = result.ratio;
            row["same_protection"] = result.same_protection;
            if (result.same_protection) {
                row["goal"] = result.measure->goal;
                row["met"] = result.ratio >= result.measure->goal;
            }
        }
        rows.push_back(std::move(row));
    }
    return {{"benchmark", "wire"},
            {"libzmq", zmq_about()},
            {"waiting", waiting_json()},
            {"rows", std::move(rows)}};
}

Options parse(int argc, char** argv) {
    Options options;
    po::options_description flags;
    // clang-format off
    flags.add_options()
        ("rounds", po::value(&options.rounds))
        ("seconds", po::value(&options.seconds))
        ("via", po::value(&options.via))
        ("json", po::value(&options.json))
        ("autogroup-nice", po::value<int>())
        ("help,h", po::bool_switch(&options.help));
    // clang-format on
    auto const given = parse_flags(argc, argv, flags);
    options.autogroup_nice = optional_int(given, "autogroup-nice");
    require_rounds(options.rounds);
    require_seconds(options.seconds);
    if (options.via != "unix" && options.via != "tcp" && options.via != "all")
        throw UsageError(text("--via ", options.via, " (must be unix, tcp or all)"));
    return options;
}

/// Does all measurements over one way, against each form of libzmq that supports it.
void measure(Way way, std::vector<bool> const& curve, Options const& options,
             std::vector<Result>& results) {
    // Servers are forked before libzmq starts threads, and one after the other, so that two pairs
    // never share the cores.
    auto const ours = make_ours(way);
    bool alone = true;
    for (bool const protect : curve) {
        auto const theirs = make_zmq(way, protect);
        if (!theirs) continue;
        alone = false;
        for (auto const& each : measures)
            print(results.emplace_back(compare(*ours, theirs.get(), each, options)));
    }
    if (!alone) return;
    for (auto const& each : measures)
        print(results.emplace_back(compare(*ours, nullptr, each, options)));
}

int run(int argc, char** argv) {
    Options const options = parse(argc, argv);
    if (options.help) {
        std::cout << usage;
        return 0;
    }
    AutogroupWeight const weight(options.autogroup_nice);  // before libzmq starts threads
    if (!weight.problem().empty()) std::cerr << "wire: " << weight.problem() << std::endl;
    std::cout << "# libzmq: " << zmq_about() << "; medians of " << options.rounds
              << " rounds in turns; ratio > 1: ours is better\n# " << waiting_text() << std::endl;
    print_header();
    std::vector<Result> results;
    if (options.via != "tcp") measure(Way::unix_socket, {false}, options, results);
    if (options.via != "unix") measure(Way::tcp, {true, false}, options, results);
    if (!options.json.empty()) write_file(options.json, as_json(results).dump(2) + '\n');
    return 0;
}

}  // namespace
}  // namespace sinew::bench

int main(int argc, char** argv) {
    return sinew::bench::run_program("wire", sinew::bench::run, argc, argv);
}
