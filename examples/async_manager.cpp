// SPDX-License-Identifier: Apache-2.0
//
// Simulators in separate processes, stepped together: first one call after the other, then all
// calls at the same time.
//
//   build/release/examples/async_manager --managers 4 --steps 5000 --step-us 100
#include <boost/program_options.hpp>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <sinew/init.hpp>
#include <sinew/manager.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "examples/cartpole.hpp"

namespace {

using cartpole::Action;
using cartpole::CartPole;
using cartpole::Step;

struct Options {
    int managers = 4, steps = 5000, step_us = 100, wait_us = 0;
};

/// The totals of all simulators.
struct Outcome {
    double reward = 0, seconds = 0;
    int episodes = 0;
};

/// Pushes in the direction in which the pole falls, and a little towards the middle.
Action balancing(Step const& seen) {
    double const fall =
        seen.angle + 0.5 * seen.angular_velocity + 0.02 * seen.position + 0.05 * seen.velocity;
    return fall > 0 ? Action::right : Action::left;
}

void add(Outcome& outcome, Step const& seen) {
    outcome.reward += seen.reward;
    outcome.episodes += seen.done ? 1 : 0;
}

double since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Outcome one_after_the_other(Options const& options) {
    std::vector<sinew::Manager> managers(static_cast<std::size_t>(options.managers));
    std::vector<sinew::Object<CartPole>> worlds;
    std::vector<Step> seen;
    for (auto& manager : managers) {
        worlds.push_back(manager.create<CartPole>(worlds.size(),
                                                  std::chrono::microseconds(options.step_us),
                                                  std::chrono::microseconds(options.wait_us)));
        seen.push_back(worlds.back().call<&CartPole::reset>());
    }
    Outcome outcome;
    auto const begin = std::chrono::steady_clock::now();
    for (int step = 0; step < options.steps; ++step) {
        for (std::size_t i = 0; i < worlds.size(); ++i) {
            seen[i] = seen[i].done ? worlds[i].call<&CartPole::reset>()
                                   : worlds[i].call<&CartPole::step>(balancing(seen[i]));
            add(outcome, seen[i]);
        }
    }
    outcome.seconds = since(begin);
    return outcome;
}

Outcome all_at_once(Options const& options) {
    std::vector<sinew::AsyncManager> managers(static_cast<std::size_t>(options.managers));
    std::vector<sinew::AsyncObject<CartPole>> worlds;
    std::vector<sinew::Reply<Step>> replies;
    for (auto& manager : managers) {
        worlds.push_back(manager.create<CartPole>(worlds.size(),
                                                  std::chrono::microseconds(options.step_us),
                                                  std::chrono::microseconds(options.wait_us)));
        replies.push_back(worlds.back().call<&CartPole::reset>());
    }
    std::vector<Step> seen;
    for (auto const& reply : replies) seen.push_back(reply.get());
    Outcome outcome;
    auto const begin = std::chrono::steady_clock::now();
    for (int step = 0; step < options.steps; ++step) {
        for (std::size_t i = 0; i < worlds.size(); ++i)
            replies[i] = seen[i].done ? worlds[i].call<&CartPole::reset>()
                                      : worlds[i].call<&CartPole::step>(balancing(seen[i]));
        for (std::size_t i = 0; i < worlds.size(); ++i) {
            seen[i] = replies[i].get();
            add(outcome, seen[i]);
        }
    }
    outcome.seconds = since(begin);
    return outcome;
}

void require(char const* flag, int value, int least) {
    if (value < least)
        throw std::invalid_argument(std::string(flag) + " " + std::to_string(value) +
                                    " (must be at least " + std::to_string(least) + ")");
}

void demonstrate(Options const& options) {
    auto const sync = one_after_the_other(options), async = all_at_once(options);
    if (sync.reward != async.reward || sync.episodes != async.episodes)
        throw std::logic_error("the simulators did not repeat the same steps");
    std::cout << options.managers << " simulators, " << options.steps << " steps of "
              << options.step_us + options.wait_us << " us each: " << sync.episodes
              << " episodes ended, rewards " << sync.reward << "\nsync   " << sync.seconds
              << " s, one call after the other\nasync  " << async.seconds
              << " s, all at once\nratio  " << sync.seconds / async.seconds << " times as fast, on "
              << std::thread::hardware_concurrency() << " processors\n";
}

}  // namespace

int main(int argc, char** argv) {
    sinew::init(argc, argv);  // must come first: managers run this same program and end inside it

    namespace po = boost::program_options;
    Options options;
    po::options_description flags("Simulators of a cart with a pole, stepped sync and async");
    auto add_flag = flags.add_options();
    add_flag("managers", po::value(&options.managers)->default_value(options.managers),
             "processes, each with one simulator");
    add_flag("steps", po::value(&options.steps)->default_value(options.steps), "of each");
    add_flag("step-us", po::value(&options.step_us)->default_value(options.step_us),
             "processor time that a step takes, in microseconds");
    add_flag("wait-us", po::value(&options.wait_us)->default_value(options.wait_us),
             "time that a step waits besides, as for a device of its own");
    add_flag("help", "print this");
    try {
        po::variables_map given;
        po::store(po::parse_command_line(argc, argv, flags), given);
        po::notify(given);
        require("--managers", options.managers, 1);
        require("--steps", options.steps, 1);
        require("--step-us", options.step_us, 0);
        require("--wait-us", options.wait_us, 0);
        if (given.count("help")) std::cout << flags;
        else demonstrate(options);
    } catch (std::exception const& error) {
        std::cerr << "async_manager: " << error.what() << '\n';
        return 1;
    }
}
