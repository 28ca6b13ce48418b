// SPDX-License-Identifier: Apache-2.0
// examples/sgd_digits on a GPU: its kernels beside its model on the host, and its training. With
// --probe only says whether there is a GPU.
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <iostream>
#include <sinew/sgd/gradient_buckets.hpp>
#include <sinew/thread_ranks.hpp>
#include <string>
#include <vector>

#include "examples/sgd_digits/gpu.hpp"
#include "examples/sgd_digits/hash.hpp"
#include "examples/sgd_digits/synthetic.hpp"
#include "examples/sgd_digits/train.hpp"
#include "tests/examples/device_model_cases.hpp"
#include "tests/gpu/gpu_or_skip.hpp"

namespace sinew::tests {
namespace {

using sgd_digits::Options;
using sgd_digits::Result;

/// All ranks share the first GPU.
std::vector<Result> train_on(int ranks, Options const& options) {
    static auto const data = sgd_digits::synthetic_digits(1, {.train = 1003, .test = 500});
    std::vector<Result> results(static_cast<std::size_t>(ranks));
    run_thread_ranks(ranks, [&](Communicator& comm) {
        results[static_cast<std::size_t>(comm.rank())] = sgd_digits::train(comm, data, options);
    });
    return results;
}

double largest_difference(std::vector<float> const& a, std::vector<float> const& b) {
    double largest = a.size() == b.size() ? 0 : INFINITY;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        double const difference = std::abs(double{a[i]} - double{b[i]});
        if (!(difference <= largest)) largest = difference;  // NaN, too
    }
    return largest;
}

bool equal_on_all(std::vector<Result> const& results) {
    return std::all_of(results.begin(), results.end(), [&](Result const& result) {
        return result.weights_hash == results.front().weights_hash;
    });
}

bool kernels() {
    bool good = true;
    auto const gpu = sgd_digits::open_gpu(0);
    std::cout << "on " << gpu->name() << '\n';
    for (auto const& now : sgd_digits::device_model_cases()) {
        auto const result = compare_device_model(*gpu, now);
        good &= expect(result.agree(), now.text() + ": " + result.text());
    }
    return good;
}

/// Batches of 50 divide unevenly over 3 ranks; the last one, of 3, leaves rank 0 of 4 without work.
bool as_on_the_host() {
    bool good = true;
    for (int const ranks : {1, 3, 4})
        for (std::size_t const hidden : {0, 16})
            for (double const clip : {0.0, 0.5}) {
                Options options{.hidden = hidden,
                                .epochs = 2,
                                .batch = 50,
                                .rate = 0.1,
                                .bucket = 4096,
                                .clip = clip};
                auto const host = train_on(1, options).front();
                options.device = true;
                auto const got = train_on(ranks, options);
                double const difference =
                    largest_difference(got.back().parameters, host.parameters);
                good &=
                    expect(difference < 1e-3 && equal_on_all(got) &&
                               got.front().gpus.size() == static_cast<std::size_t>(ranks),
                           std::to_string(ranks) + " ranks, " + std::to_string(hidden) +
                               " hidden, clip " + std::to_string(clip) +
                               ": weights differ from the host's by " + std::to_string(difference) +
                               ", loss " + std::to_string(got.front().epochs.back().loss) +
                               " and " + std::to_string(host.epochs.back().loss));
            }
    return good;
}

bool wire_formats() {
    bool good = true;
    for (auto const wire : {WireFormat::native, WireFormat::bf16, WireFormat::f16, WireFormat::fp8,
                            WireFormat::int8}) {
        Options options{.hidden = 16, .epochs = 4, .wire = wire, .bucket = 4096};
        double const host = train_on(2, options).front().epochs.back().loss;
        options.device = true;
        auto const first = train_on(2, options), again = train_on(2, options);
        double const got = first.front().epochs.back().loss;
        good &= expect(std::abs(got - host) <= 0.05 * host, std::string(name(wire)) + ": loss " +
                                                                std::to_string(got) + " and " +
                                                                std::to_string(host));
        good &= expect(equal_on_all(first) && equal_on_all(again) &&
                           first.front().weights_hash == again.front().weights_hash,
                       std::string(name(wire)) + ": the same bits on all ranks and again, " +
                           sgd_digits::hash_text(first.front().weights_hash));
    }
    return good;
}

bool checkpoint() {
    auto const folder = std::filesystem::temp_directory_path() /
                        ("sgd_digits_gpu_test." + std::to_string(getpid()));
    Options options{.hidden = 16, .epochs = 3, .device = true, .wire = WireFormat::int8};
    auto const whole = train_on(2, options).front();
    options.checkpoint = folder.string();
    options.checkpoint_every = 5;
    options.epochs = 2;
    train_on(2, options);
    options.epochs = 3;
    auto const continued = train_on(2, options);
    std::filesystem::remove_all(folder);
    return expect(equal_on_all(continued) && continued.front().weights_hash == whole.weights_hash,
                  "continues from a checkpoint with the same bits");
}

bool run() {
    // All are run, whatever the first ones give.
    bool const results[] = {kernels(), as_on_the_host(), wire_formats(), checkpoint()};
    return std::all_of(std::begin(results), std::end(results), [](bool good) { return good; });
}

}  // namespace
}  // namespace sinew::tests

int main(int argc, char** argv) {
    sinew::tests::need_gpu();
    if (argc > 1 && std::string(argv[1]) == "--probe") return 0;
    try {
        return sinew::tests::run() ? 0 : 1;
    } catch (std::exception const& error) {
        std::cout << "FAIL: " << error.what() << '\n';
        return 1;
    }
}
