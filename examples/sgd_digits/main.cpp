// SPDX-License-Identifier: Apache-2.0
//
// Distributed stochastic gradient descent in one file of loops (train.cpp). GradientBuckets reduces
// gradients in host memory (host_learner.cpp), DeviceSgd those on GPUs (device_learner.cpp):
//
//     ./sgd_digits                                one rank, synthetic digits
//     mpirun -n 4 ./sgd_digits --data DIR         four ranks, real digits
//     mpirun -n 4 ./sgd_digits --device           four ranks, on NVIDIA GPUs
//
// Exits with 0, with 1 if something failed, or with 2 if the command line is wrong.
#include <unistd.h>

#include <exception>
#include <iostream>
#include <optional>
#include <sinew/comm/timeline.hpp>
#include <sinew/error.hpp>
#include <sinew/world.hpp>
#include <string>
#include <vector>

#include "examples/sgd_digits/on_all_ranks.hpp"
#include "examples/sgd_digits/on_rank_0.hpp"
#include "examples/sgd_digits/options.hpp"
#include "examples/sgd_digits/plot.hpp"
#include "examples/sgd_digits/report.hpp"
#include "examples/sgd_digits/share.hpp"
#include "examples/sgd_digits/synthetic.hpp"
#include "examples/sgd_digits/train.hpp"

namespace sgd_digits {
namespace {

constexpr int failed = 1, usage = 2;

RingJob crew_of(sinew::World const& world) {
    std::string hosts;
    for (auto const& host : world.nodes().hosts) hosts += (hosts.empty() ? "" : ", ") + host;
    return {world.size(), hosts, world.bootstrap()};
}

Dataset data_for_all(sinew::Communicator& comm, Options const& options) {
    Dataset data;
    on_rank_0(comm, [&] {
        if (!options.plot.empty()) check_plot(options.plot);
        data = options.data.empty() ? synthetic_digits(1) : load(options.data);
    });
    share(comm, data);
    return data;
}

void run(sinew::World& world, Options const& options) {
    auto& comm = world.communicator();
    Dataset const data = data_for_all(comm, options);
    auto const crew = crew_of(world);
    // Progress is printed on stderr, because Open MPI's mpirun gives its ranks a pseudo-terminal as
    // stdout even if its own stdout is a file.
    Report report(std::cout, isatty(STDERR_FILENO) == 1 ? &std::cerr : nullptr, options);
    Observer observer;
    if (comm.rank() == 0) {
        report.header(crew, data);
        observer.gpus = [&](auto const& gpus) { report.gpus(gpus); };
        observer.step = [&](auto epoch, auto step, auto steps) { report.step(epoch, step, steps); };
        observer.epoch = [&](auto epoch, auto const& now) { report.epoch(epoch, now); };
    }
    std::optional<sinew::Timeline> timeline;
    if (!options.timeline.empty()) timeline.emplace(comm, options.timeline);
    Result const result = train(comm, data, options, observer);
    if (timeline) timeline->write();
    if (comm.rank() != 0) return;
    report.summary(result);
    if (!options.plot.empty())
        plot(options.plot, "sgd_digits, " + std::to_string(crew.ranks) + " ranks", result.epochs);
    if (options.json) report.json(crew, data, result);
}

/// The library refuses an unknown --algorithm on all ranks. The name is tried before all else, so
/// that it is reported as a mistake in the command line.
void check_algorithm(sinew::Communicator& comm, std::string const& name) {
    if (!name.empty()) comm.allreduce_value(1.0f, sinew::sum, {.algorithm = name});
}

/// Returns the exit code. Failures common to all ranks are printed by rank 0 only. Exceptions are
/// caught before the world ends, because leaving a broken world may take a while.
int start(sinew::World& world, std::vector<std::string> const& arguments) {
    Options options;
    try {
        options = parse_options(arguments);
        if (!options.help) check_algorithm(world.communicator(), options.algorithm);
    } catch (OptionError const& error) {
        if (world.rank() == 0) std::cerr << "sgd_digits: " << error.what() << '\n';
        return usage;
    } catch (sinew::UsageError const& error) {
        if (world.rank() == 0) std::cerr << "sgd_digits: --algorithm: " << error.what() << '\n';
        return usage;
    }
    if (options.help) {
        if (world.rank() == 0) std::cout << help_text();
        return 0;
    }
    try {
        run(world, options);
        return 0;
    } catch (FailedOnRank0 const&) {
        return failed;
    } catch (FailedElsewhere const&) {
        return failed;
    } catch (Diverged const& error) {
        if (world.rank() == 0) std::cerr << "sgd_digits: " << error.what() << '\n';
    } catch (std::exception const& error) {
        std::cerr << "sgd_digits: " << error.what() << '\n';
    }
    return failed;
}

}  // namespace
}  // namespace sgd_digits

int main(int argc, char** argv) {
    using namespace sgd_digits;
    try {
        sinew::World world(argc, argv);
        return start(world, {argv + 1, argv + argc});
    } catch (std::exception const& error) {  // there is no world to join
        std::cerr << "sgd_digits: " << error.what() << '\n';
        return failed;
    }
}
