// SPDX-License-Identifier: Apache-2.0
// A job to look at: rank 0 has a pool, of which a worker dies now and then; the others reduce vectors,
// and print how far they are. Outside of a job, the pool alone. dashboard_program SECONDS
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <sinew/communicator.hpp>
#include <sinew/init.hpp>
#include <sinew/pool.hpp>
#include <sinew/this_task.hpp>
#include <sinew/world.hpp>
#include <span>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double simulate(std::uint64_t trial) {
    if (trial % 4000 == 1500 && sinew::this_task::attempt() == 1) std::raise(SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    return 1.0 / static_cast<double>(trial + 1);
}

void search(Clock::time_point until) {
    sinew::Pool pool(4, {.progress = sinew::Progress::off});
    for (int generation = 1; Clock::now() < until; ++generation) {
        double best = 0;
        for (double const each :
             pool.map<simulate>(sinew::range(std::uint64_t{0}, std::uint64_t{4000})))
            best = std::max(best, each);
        std::cout << "generation " << generation << ": best score " << best << std::endl;
    }
}

void train(sinew::Communicator& communicator, int rank, Clock::time_point until) {
    std::vector<float> gradients(1 << 20, 1.0F);
    for (int step = 1; Clock::now() < until; ++step) {
        communicator.allreduce(std::span(gradients), sinew::average);
        std::cout << "step " << 100 * step << ": loss " << 2.3 / (1 + 0.2 * step) << std::endl;
        if (step % 9 == 0)
            std::cerr << "step " << 100 * step << ": checkpoint written" << std::endl;
        std::this_thread::sleep_for(std::chrono::milliseconds(700 + 17 * rank));
    }
}

// Of several ranks the last but one waits alone: it may be killed, and the others go on.
void take_part(Clock::time_point until) {
    sinew::World world;
    bool const alone = world.rank() == 0 || world.rank() == world.size() - 2;
    auto group = world.communicator().split(alone ? 1 + world.rank() : 0, world.rank());
    if (world.rank() == 0) search(until);
    else train(group, world.rank(), until);
}

}  // namespace

int main(int argc, char** argv) {
    sinew::init(argc, argv);
    auto const until = Clock::now() + std::chrono::seconds(argc > 1 ? std::atoi(argv[1]) : 60);
    if (std::getenv("SINEW_RANK") != nullptr) take_part(until);
    else search(until);
}
