// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/options.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <sinew/error.hpp>

#include "benchmarks/peers/peer.hpp"
#include "benchmarks/support/sizes.hpp"
#include "benchmarks/support/text.hpp"

namespace po = boost::program_options;

namespace sinew::bench {

namespace {

using Words = std::vector<std::string>;

// The descriptions are in help_text(); these are only names and types.
po::options_description described_flags() {
    po::options_description flags;
    auto const words = [] { return po::value<Words>()->composing(); };
    // clang-format off
    flags.add_options()
        ("op", words())
        ("sizes", words())
        ("dtype", words())
        ("redop", words())
        ("algorithm", words())
        ("variant", words())
        ("peer", words())
        ("preset", po::value<std::string>())
        ("mpi-thread", po::value<std::string>())
        ("own-session", "")
        ("nonblocking", "")
        ("zero-copy", "")
        ("tail", "")
        ("ranks", po::value<int>())
        ("threads", po::value<int>())
        ("warmup", po::value<int>())
        ("rounds", po::value<int>())
        ("budget", po::value<double>())
        ("check", "")
        ("no-check", "")
        ("no-pin", "")
        ("autogroup-nice", po::value<int>())
        ("json", po::value<std::string>())
        ("plot", po::value<std::string>())
        ("link-rate", po::value<std::string>())
        ("explain", "")
        ("report", po::value<std::string>())
        ("runs", po::value<Words>()->multitoken()->composing())
        ("merge", po::value<Words>()->multitoken()->composing())
        ("help,h", "");
    // clang-format on
    return flags;
}

[[noreturn]] void refuse_unknown(std::string const& flag) {
    Words names;
    auto const flags = described_flags();
    for (auto const& option : flags.options()) names.push_back("--" + option->long_name());
    throw UsageError(text("unknown flag ", flag, " (did you mean ", nearest(flag, names),
                          "?). --help lists all flags"));
}

po::variables_map parse_words(Words const& arguments) {
    using namespace po::command_line_style;
    auto const style = default_style & ~allow_guessing;
    po::variables_map values;
    try {
        auto const flags = described_flags();
        po::positional_options_description const no_positional;
        po::store(po::command_line_parser(arguments)
                      .options(flags)
                      .positional(no_positional)
                      .style(style)
                      .run(),
                  values);
    } catch (po::unknown_option const& problem) {
        refuse_unknown(problem.get_option_name());
    } catch (po::too_many_positional_options_error const&) {
        throw UsageError(
            "an argument without a flag before it. Write e.g. --op allreduce; --help "
            "lists all flags");
    } catch (po::error const& problem) {
        throw UsageError(text(problem.what(), ". --help lists all flags"));
    }
    return values;
}

/// "a,b" means the same as the flag given twice.
Words list(po::variables_map const& values, char const* flag) {
    Words all;
    for (std::string const& word : values[flag].as<Words>())
        for (std::string const& part : split(word, ',')) all.push_back(part);
    return all;
}

Words collective_names() {
    Words names;
    for (int i = 0; i < collectives_count; ++i)
        names.emplace_back(name(static_cast<Collective>(i)));
    return names;
}

std::vector<Collective> parse_collectives(Words const& words) {
    Words const names = collective_names();
    std::vector<Collective> collectives;
    for (std::string const& word : words) {
        auto const found = std::find(names.begin(), names.end(), word);
        if (word == "all") {
            for (int i = 0; i < collectives_count; ++i)
                collectives.push_back(static_cast<Collective>(i));
        } else if (found != names.end()) {
            collectives.push_back(static_cast<Collective>(found - names.begin()));
        } else {
            throw UsageError(text("--op ", word, " (did you mean ", nearest(word, names),
                                  "?). There are ", join(names), " and all"));
        }
    }
    return collectives;
}

std::vector<Variant> parse_variants(Words const& words) {
    std::vector<Variant> variants;
    for (std::string const& word : words) {
        if (word != "reused" && word != "live" && word != "both")
            throw UsageError(text("--variant ", word, " (must be reused, live or both)"));
        if (word != "live") variants.push_back(Variant::reused);
        if (word != "reused") variants.push_back(Variant::live);
    }
    return variants;
}

Words parse_peers(Words const& words) {
    Words const names = peer_names();
    Words peers;
    for (std::string const& word : words) {
        if (word == "all") {
            for (std::string const& peer : every_peer())
                if (std::find(peers.begin(), peers.end(), peer) == peers.end())
                    peers.push_back(peer);
            continue;
        }
        if (std::find(names.begin(), names.end(), word) == names.end())
            throw UsageError(text("--peer ", word, " (did you mean ", nearest(word, names),
                                  "?). There are ", join(names), " and all"));
        std::string const peer = word == "mpi" ? mpi_peer_name() : word;
        if (std::find(peers.begin(), peers.end(), peer) == peers.end()) peers.push_back(peer);
    }
    return peers;
}

template <class Number>
Number at_least(Number least, po::variables_map const& values, char const* flag) {
    auto const value = values[flag].as<Number>();
    if (!(value >= least))
        throw UsageError(text("--", flag, " ", value, " (must be at least ", least, ")"));
    return value;
}

MpiThread parse_mpi_thread(std::string const& word) {
    for (MpiThread const level : {MpiThread::single, MpiThread::multiple})
        if (word == name(level)) return level;
    throw UsageError(text("--mpi-thread ", word, " (must be single or multiple)"));
}

/// Sets what the other flags may then change.
void apply_preset(std::string const& word, Options& options) {
    if (word == "quick") {
        options.collectives = {Collective::allreduce, Collective::reduce_scatter_block,
                               Collective::allgather, Collective::broadcast,
                               Collective::alltoall,  Collective::barrier};
        options.sizes = parse_sizes("8,1K,64K,1M,16M");
        options.budget = 1;
    } else if (word == "full") {
        options.collectives = parse_collectives({"all"});
        options.sizes = parse_sizes("4-256M");
        options.budget = 1;
    } else {
        throw UsageError(text("--preset ", word, " (must be quick or full)"));
    }
    options.variants = {Variant::reused, Variant::live};
}

void read_lists(po::variables_map const& values, Options& options) {
    if (values.count("op")) options.collectives = parse_collectives(list(values, "op"));
    if (values.count("algorithm")) options.algorithms = list(values, "algorithm");
    if (values.count("variant")) options.variants = parse_variants(list(values, "variant"));
    if (values.count("peer")) options.peers = parse_peers(list(values, "peer"));
    if (values.count("peer") && !values.count("variant"))
        options.variants = {Variant::reused, Variant::live};
    if (values.count("sizes")) options.sizes = parse_sizes(join(list(values, "sizes"), ","));
    if (values.count("dtype")) {
        options.types.clear();
        for (std::string const& word : list(values, "dtype"))
            options.types.push_back(parse_data_type(word));
    }
    if (values.count("redop")) {
        options.ops.clear();
        for (std::string const& word : list(values, "redop"))
            options.ops.push_back(parse_reduce_op(word));
    }
}

}  // namespace

Options parse_options(Words const& arguments) {
    auto const values = parse_words(arguments);
    Options options;
    if (values.count("preset")) apply_preset(values["preset"].as<std::string>(), options);
    read_lists(values, options);
    if (values.count("mpi-thread"))
        options.mpi_thread = parse_mpi_thread(values["mpi-thread"].as<std::string>());
    if (values.count("ranks")) options.ranks = at_least(1, values, "ranks");
    if (values.count("threads")) options.threads = at_least(1, values, "threads");
    if (values.count("warmup")) options.warmup = at_least(0, values, "warmup");
    if (values.count("rounds")) options.rounds = at_least(1, values, "rounds");
    if (values.count("budget")) options.budget = at_least(0.0, values, "budget");
    if (values.count("link-rate"))
        options.link_rate = parse_rate(values["link-rate"].as<std::string>());
    if (values.count("json")) options.json = values["json"].as<std::string>();
    if (values.count("plot")) options.plot = values["plot"].as<std::string>();
    if (values.count("merge")) options.merge = values["merge"].as<Words>();
    if (values.count("report")) options.report = values["report"].as<std::string>();
    if (values.count("runs")) options.runs = values["runs"].as<Words>();
    if (values.count("autogroup-nice"))
        options.autogroup_nice = at_least(-20, values, "autogroup-nice");
    if (values.count("check") && values.count("no-check"))
        throw UsageError("--check and --no-check (one of them at most)");
    if (values.count("merge") && options.merge.size() < 2)
        throw UsageError(
            "--merge with one file (needs two or more). Give ours first, then the others");
    if (options.report.empty() != options.runs.empty())
        throw UsageError(
            "--report and --runs belong together: --report PAGE.md --runs FILE.json... writes the "
            "page from files of --json");
    options.tail = values.count("tail") > 0;
    options.own_session = values.count("own-session") > 0;
    options.nonblocking = values.count("nonblocking") > 0;
    options.zero_copy = values.count("zero-copy") > 0;
    if (options.own_session && options.threads > 0)
        throw UsageError(
            "--own-session with --threads (threads have the session of their process)");
    options.check = !values.count("no-check");
    options.pin = !values.count("no-pin");
    options.explain = values.count("explain") > 0;
    options.help = values.count("help") > 0;
    return options;
}

}  // namespace sinew::bench
