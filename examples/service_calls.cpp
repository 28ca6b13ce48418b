// SPDX-License-Identifier: Apache-2.0
//
// Tries learning rates on a machine that runs `sinew serve`, each in a call with a GPU of its own:
// service_calls gpu-box 0.05 0.1 0.2
// OWN_ADDRESS is the address of this host by which the machine reaches it, if that is not obvious.
#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <sinew/init.hpp>
#include <sinew/service.hpp>
#include <string>
#include <utility>
#include <vector>

namespace {

using Trial = std::pair<double, std::string>;  ///< the loss, and the GPU

// Stands for a training: the minimum of (x - 3)^2, from 0 in 20 steps.
Trial train(double rate) {
    double x = 0;
    for (int step = 0; step < 20; ++step) x -= rate * 2 * (x - 3);
    char const* const gpu = std::getenv("CUDA_VISIBLE_DEVICES");
    return {(x - 3) * (x - 3), gpu != nullptr ? gpu : "none"};
}

}  // namespace

int main(int argc, char** argv) try {
    sinew::init(argc, argv);  // first: the machine runs this same program
    if (argc < 3) {
        std::cerr << "usage: service_calls HOST RATE...\n";
        return 2;
    }
    sinew::ServiceOptions options;
    options.gpus = 1;
    options.time_limit = std::chrono::minutes(5);
    if (char const* const address = std::getenv("OWN_ADDRESS")) options.address = address;
    sinew::Service const service(argv[1], options);
    std::vector<sinew::AsyncResult<Trial>> trials;
    for (int i = 2; i < argc; ++i) trials.push_back(service.call_async<&train>(std::stod(argv[i])));
    for (std::size_t i = 0; i < trials.size(); ++i) {
        auto const [loss, gpu] = trials[i].get();
        std::cout << "rate " << argv[i + 2] << ": loss " << loss << " on GPU " << gpu << '\n';
    }
} catch (std::exception const& error) {
    std::cerr << "service_calls: " << error.what() << '\n';
    return 1;
}
