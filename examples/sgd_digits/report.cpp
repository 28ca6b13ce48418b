// SPDX-License-Identifier: Apache-2.0
#include "examples/sgd_digits/report.hpp"

#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sinew/version.hpp>
#include <sstream>
#include <string>

#include "examples/sgd_digits/hash.hpp"
#include "examples/sgd_digits/model.hpp"

namespace sgd_digits {
namespace {

std::string algorithm(Options const& options) {
    return options.algorithm.empty() ? "auto" : options.algorithm;
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

/// The options that few runs use, on a line of their own.
std::string extras(Options const& options) {
    std::ostringstream text;
    if (options.clip > 0) text << ", gradients clipped to norm " << options.clip;
    if (options.powersgd_rank > 0) text << ", PowerSGD of rank " << options.powersgd_rank;
    if (options.optimizer_sharding) text << ", optimiser divided among the ranks";
    if (options.local_steps > 0)
        text << ", weights averaged every " << options.local_steps << " steps";
    return text.str().empty() ? "" : "with   " + text.str().substr(2) + "\n";
}

}  // namespace

void Report::header(RingJob const& crew, Dataset const& data) {
    Model const model(data.train.features, options_.hidden);
    out_ << "sinew " << sinew::version() << ", " << crew.ranks
         << (crew.ranks == 1 ? " rank" : " ranks") << " on " << crew.hosts << " (" << crew.bootstrap
         << ")\n"
         << "data   " << data.origin << ": " << data.train.size() << " to train, "
         << data.test.size() << " to test, " << data.train.features << " features\n"
         << "model  " << model.shape() << ", " << model.parameters().size() << " parameters, seed "
         << options_.seed << "\n"
         << "steps  batches of " << options_.batch << " over all ranks, rate " << options_.rate
         << ", momentum " << options_.momentum << ", allreduce " << algorithm(options_) << ", wire "
         << sinew::name(options_.wire) << "\n"
         << extras(options_) << std::flush;
}

void Report::gpus(std::vector<std::string> const& gpus) {
    for (std::size_t rank = 0; rank < gpus.size(); ++rank)
        out_ << "gpu    rank " << rank << ": " << gpus[rank] << '\n';
    out_ << std::flush;
}

void Report::step(std::size_t epoch, std::size_t step, std::size_t steps) {
    std::size_t const every = steps / 20 + 1;
    if (!progress_ || step % every != 0) return;
    *progress_ << "\repoch " << std::setw(2) << epoch << '/' << options_.epochs << "  step " << step
               << '/' << steps << "   " << std::flush;
}

void Report::epoch(std::size_t epoch, Epoch const& now) {
    if (progress_) *progress_ << "\r\033[K" << std::flush;  // erases the progress line
    out_ << std::fixed << "epoch " << std::setw(2) << epoch << '/' << options_.epochs << "  loss "
         << std::setprecision(4) << now.loss << "  test accuracy " << std::setprecision(2)
         << 100 * now.accuracy << " %\n"
         << std::defaultfloat << std::flush;
}

void Report::summary(Result const& result) {
    out_ << std::fixed << std::setprecision(1) << 1e6 * share(result.seconds, result.steps)
         << " us per step (" << result.steps << " steps, " << std::setprecision(2) << result.seconds
         << " s), " << std::setprecision(1) << 100 * share(result.allreduce_seconds, result.seconds)
         << " % of it in allreduce\n"
         << std::defaultfloat << (result.tuning.empty() ? "" : result.tuning + "\n") << "weights "
         << hash_text(result.weights_hash) << " on every rank\n"
         << std::flush;
}

void Report::json(RingJob const& crew, Dataset const& data, Result const& result) {
    auto const& last = result.epochs.back();
    nlohmann::ordered_json const line{
        {"ranks", crew.ranks},
        {"epochs", options_.epochs},
        {"loss", last.loss},
        {"test_accuracy", last.accuracy},
        {"seed", options_.seed},
        {"hidden", options_.hidden},
        {"batch", options_.batch},
        {"rate", options_.rate},
        {"momentum", options_.momentum},
        {"algorithm", algorithm(options_)},
        {"wire", sinew::name(options_.wire)},
        {"bucket", options_.bucket},
        {"clip_norm", options_.clip},
        {"powersgd_rank", options_.powersgd_rank},
        {"optimizer_sharding", options_.optimizer_sharding},
        {"local_steps", options_.local_steps},
        {"gpus", result.gpus},
        {"data", data.origin},
        {"train_examples", data.train.size()},
        {"test_examples", data.test.size()},
        {"parameters", result.parameters.size()},
        {"steps", result.steps},
        {"seconds", result.seconds},
        {"allreduce_seconds", result.allreduce_seconds},
        {"weights_hash", hash_text(result.weights_hash)},
        {"hosts", crew.hosts},
        {"version", sinew::version()},
    };
    // Paths may not be UTF-8; JSON must be.
    out_ << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

}  // namespace sgd_digits
