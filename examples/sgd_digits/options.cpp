// SPDX-License-Identifier: Apache-2.0
#include "examples/sgd_digits/options.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <limits>
#include <numeric>
#include <sstream>

#include "examples/sgd_digits/gpu.hpp"

namespace sgd_digits {
namespace {

namespace po = boost::program_options;

/// Numbers are read as signed or double and then checked: Boost would read -1 as 2^64 - 1.
struct Raw {
    Options options;
    long long hidden = 64, epochs = 30, batch = 64, seed = 1, bucket = 1 << 20, every = 100;
    long long powersgd_rank = 0, local_steps = 0;
    double rate = 0.2, momentum = 0.9, clip = 0;
    std::string wire = "native";
};

po::options_description describe(Raw& raw) {
    po::options_description all("flags", 100, 60);
    auto add = all.add_options();
    add("data", po::value(&raw.options.data)->value_name("PATH"),
        "directory with train.csv and test.csv, or with the four MNIST files (unpacked), or one "
        "CSV "
        "file, a fifth of which becomes the test set. Only rank 0 reads it. Without: synthetic "
        "digits");
    add("hidden", po::value(&raw.hidden)->value_name("N")->default_value(raw.hidden),
        "hidden units; 0: softmax regression");
    add("epochs", po::value(&raw.epochs)->value_name("N")->default_value(raw.epochs),
        "passes over the training set");
    add("batch", po::value(&raw.batch)->value_name("N")->default_value(raw.batch),
        "examples per step, of all ranks together");
    add("device", po::bool_switch(&raw.options.device),
        "train on NVIDIA GPUs: each rank on one of those that it sees (CUDA_VISIBLE_DEVICES), in "
        "turn. Not with --powersgd-rank, --optimizer-sharding, --local-steps, --tune-buckets");
    add("rate", po::value(&raw.rate)->value_name("X")->default_value(raw.rate, "0.2"),
        "learning rate");
    add("momentum", po::value(&raw.momentum)->value_name("X")->default_value(raw.momentum, "0.9"),
        "share of the last step that is kept");
    add("seed", po::value(&raw.seed)->value_name("N")->default_value(raw.seed),
        "of the first weights and of the order of the examples");
    add("algorithm", po::value(&raw.options.algorithm)->value_name("NAME"),
        "of the allreduce (ring, recursive_doubling, ...); without: the library chooses");
    add("wire", po::value(&raw.wire)->value_name("NAME")->default_value(raw.wire),
        "how gradients travel: native (f32), bf16, f16, fp8, int8");
    add("bucket", po::value(&raw.bucket)->value_name("BYTES")->default_value(raw.bucket),
        "how many bytes of gradients are reduced at a time");
    add("clip-norm", po::value(&raw.clip)->value_name("X")->default_value(raw.clip, "0"),
        "scale gradients down to this norm; 0: never");
    add("powersgd-rank",
        po::value(&raw.powersgd_rank)->value_name("N")->default_value(raw.powersgd_rank),
        "send gradients of weights as products of matrices of this rank; 0: as they are");
    add("optimizer-sharding", po::bool_switch(&raw.options.optimizer_sharding),
        "each rank keeps and updates its part of the momentum alone");
    add("local-steps", po::value(&raw.local_steps)->value_name("N")->default_value(raw.local_steps),
        "ranks train alone, and average weights every N steps and after each epoch; 0: average "
        "gradients in each step");
    add("tune-buckets", po::bool_switch(&raw.options.tune_buckets),
        "measure other bucket sizes in the first steps, and go on with the fastest");
    add("timeline", po::value(&raw.options.timeline)->value_name("FILE.json"),
        "write when each rank was in which call, for chrome://tracing or Perfetto");
    add("checkpoint", po::value(&raw.options.checkpoint)->value_name("FOLDER"),
        "store the state of training here, and continue from it if it is there");
    add("checkpoint-every", po::value(&raw.every)->value_name("STEPS")->default_value(raw.every),
        "how often");
    add("plot", po::value(&raw.options.plot)->value_name("FILE.svg"),
        "draw loss and accuracy (needs gnuplot)");
    add("json", po::bool_switch(&raw.options.json), "end with one line of JSON");
    add("help", po::bool_switch(&raw.options.help), "print this");
    return all;
}

/// The Levenshtein distance.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0]++;
        for (std::size_t j = 0; j < b.size(); ++j) {
            std::size_t const changed = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({changed, diagonal + 1, row[j] + 1});
        }
    }
    return row.back();
}

std::vector<std::string> flags(po::options_description const& all) {
    std::vector<std::string> names;
    for (auto const& option : all.options()) names.push_back("--" + option->long_name());
    return names;
}

template <class Number>
void check(char const* flag, Number value, Number least, Number most) {
    if (value >= least && value <= most) return;  // false for NaN
    std::ostringstream text;
    text << flag << " " << value << " (expected " << least << " to " << most << ").";
    throw OptionError(text.str());
}

/// --device has its gradients reduced by sinew::DeviceSgd.
void check_device(Options const& options) {
    struct {
        bool given;
        char const* flag;
        char const* why;
    } const others[] = {
        {options.local_steps > 0, "--local-steps",
         "sinew::LocalSgd averages parameters in host memory"},
        {options.optimizer_sharding, "--optimizer-sharding",
         "sinew::ShardedOptimizer updates parameters in host memory"},
        {options.powersgd_rank > 0, "--powersgd-rank",
         "sinew::DeviceSgd, which sums gradients there, has no PowerSGD"},
        {options.tune_buckets, "--tune-buckets",
         "sinew::DeviceSgd, which sums gradients there, keeps the buckets that it began with"},
    };
    for (auto const& other : others)
        if (other.given)
            throw OptionError(std::string("--device with ") + other.flag + ": " + other.why +
                              ". Leave one of them out.");
    if (!built_with_cuda())
        throw OptionError(
            "--device: this program was built without CUDA. Install CUDA 12.8 or later, with nvcc, "
            "and configure and build again; or leave --device out to train on the processor.");
}

Options checked(Raw const& raw) {
    constexpr long long million = 1'000'000;
    check("--hidden", raw.hidden, 0LL, million);
    check("--epochs", raw.epochs, 1LL, million);
    check("--batch", raw.batch, 1LL, 1000 * million);
    check("--seed", raw.seed, 0LL, std::numeric_limits<long long>::max());
    check("--rate", raw.rate, 1e-9, 1e3);
    check("--bucket", raw.bucket, 1LL, 1000 * million);
    check("--checkpoint-every", raw.every, 1LL, 1000 * million);
    check("--momentum", raw.momentum, 0.0, 0.9999);
    check("--clip-norm", raw.clip, 0.0, 1e9);
    check("--powersgd-rank", raw.powersgd_rank, 0LL, million);
    check("--local-steps", raw.local_steps, 0LL, 1000 * million);
    Options options = raw.options;
    options.clip = raw.clip;
    options.powersgd_rank = static_cast<int>(raw.powersgd_rank);
    options.local_steps = static_cast<std::size_t>(raw.local_steps);
    if (options.local_steps > 0 &&
        (options.optimizer_sharding || options.clip > 0 || options.powersgd_rank > 0))
        throw OptionError(
            "--local-steps averages weights, so there is nothing for --optimizer-sharding, "
            "--clip-norm and --powersgd-rank to do. Leave them out.");
    if (options.optimizer_sharding && options.powersgd_rank > 0)
        throw OptionError("--optimizer-sharding with --powersgd-rank: use one of them.");
    options.hidden = static_cast<std::size_t>(raw.hidden);
    options.epochs = static_cast<std::size_t>(raw.epochs);
    options.batch = static_cast<std::size_t>(raw.batch);
    options.seed = static_cast<std::uint64_t>(raw.seed);
    options.rate = raw.rate;
    options.checkpoint_every = static_cast<std::size_t>(raw.every);
    options.bucket = static_cast<std::size_t>(raw.bucket);
    try {
        options.wire = sinew::parse_wire_format(raw.wire);
    } catch (sinew::UsageError const& error) {
        throw OptionError(std::string("--wire: ") + error.what() + ".");
    }
    if (options.powersgd_rank > 0 && options.wire != sinew::WireFormat::native)
        throw OptionError("--powersgd-rank with --wire " + raw.wire + " (expected native).");
    if (options.tune_buckets &&
        (options.local_steps > 0 || options.optimizer_sharding || options.powersgd_rank > 0 ||
         options.wire == sinew::WireFormat::fp8 || options.wire == sinew::WireFormat::int8))
        throw OptionError(
            "--tune-buckets is possible with gradients in native, bf16 or f16 alone, not with "
            "--local-steps, --optimizer-sharding and --powersgd-rank.");
    options.momentum = raw.momentum;
    if (options.device && !options.help) check_device(options);
    return options;
}

}  // namespace

std::string_view nearest(std::string_view word, std::vector<std::string> const& candidates) {
    return *std::min_element(
        candidates.begin(), candidates.end(),
        [&](auto const& a, auto const& b) { return distance(word, a) < distance(word, b); });
}

Options parse_options(std::vector<std::string> const& arguments) {
    Raw raw;
    auto const all = describe(raw);
    try {
        // No abbreviations: `--epoch` would become ambiguous when another flag begins with it.
        auto const style =
            po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
        auto const parsed = po::command_line_parser(arguments)
                                .options(all)
                                .positional(po::positional_options_description{})
                                .style(style)
                                .run();
        po::variables_map values;
        po::store(parsed, values);
        po::notify(values);
    } catch (po::unknown_option const& error) {
        throw OptionError("unknown flag " + error.get_option_name() + ". Did you mean " +
                          std::string(nearest(error.get_option_name(), flags(all))) + "?");
    } catch (po::too_many_positional_options_error const&) {
        throw OptionError("an argument without a flag before it. Did you mean --data PATH?");
    } catch (po::error const& error) {
        throw OptionError(std::string(error.what()) + ". See --help.");
    }
    return checked(raw);
}

std::string help_text() {
    Raw raw;
    std::ostringstream text;
    text
        << "Trains a classifier of handwritten digits by stochastic gradient descent, its batches\n"
           "spread over all ranks: sgd_digits alone, or mpirun -n 4 sgd_digits.\n\n"
        << describe(raw);
    return text.str();
}

}  // namespace sgd_digits
