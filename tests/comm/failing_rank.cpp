// SPDX-License-Identifier: Apache-2.0
// One rank of a job in which rank 1 fails: failing_rank SCENARIO FOLDER. Every other rank makes
// calls until it gets an error, and writes the error to FOLDER/told.RANK. See failure_mpi_test.cpp.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sinew/error.hpp>
#include <sinew/world.hpp>

#include "src/transport/mpi_library.hpp"

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr int at_fault = 1;
constexpr int timeout_status = 3, peer_lost_status = 4, other_status = 5;

fs::path folder;

/// Writes a temporary file and renames it, so that readers see complete files.
void write(std::string const& name, std::string const& text) {
    fs::path const aside = folder / ("aside." + name);
    std::ofstream(aside) << text << '\n';
    fs::rename(aside, folder / name);
}

/// The files of shared memory that this process uses, one per line.
std::string shared_memory() {
    std::string names;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (auto const at = line.find("/dev/shm/"); at != line.npos)
            if (line.find("(deleted)") == line.npos) names += line.substr(at) + '\n';
    return names;
}

void wait_until_the_others_are_told(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
        if (rank == at_fault) continue;
        for (int i = 0; i < 30000 && !fs::exists(folder / ("told." + std::to_string(rank))); ++i)
            std::this_thread::sleep_for(1ms);
    }
}

void go_wrong(std::string const& scenario, int ranks) {
    if (scenario == "killed") ::raise(SIGKILL);
    if (scenario == "stopped") ::raise(SIGSTOP);
    if (scenario == "exits") std::exit(0);
    if (scenario == "exits_at_once") ::_exit(0);
    if (scenario == "sleeps") wait_until_the_others_are_told(ranks);
    if (scenario == "throws") throw std::logic_error("of rank 1's own");
}

/// Makes and destroys groups continuously; one rank is killed meanwhile.
void split_until_the_end(sinew::World& world) {
    std::thread killer;
    for (int round = 0;; ++round) {
        sinew::Communicator part = world.communicator().split(0, -world.rank());
        if (world.rank() == at_fault && round == 20) {
            std::random_device chance;
            auto const soon = std::chrono::microseconds(chance() % 3000);
            killer = std::thread([soon] {
                std::this_thread::sleep_for(soon);
                ::kill(::getpid(), SIGKILL);
            });
        }
    }
}

void work(sinew::World& world, std::string const& scenario) {
    if (scenario == "killed_in_split") split_until_the_end(world);
    std::vector<float> small(100), large(500000);
    for (int round = 0;; ++round) {
        world.communicator().allreduce(small, sinew::sum);
        world.communicator().allreduce(large, sinew::max);
        if (world.rank() == at_fault && round == 20) go_wrong(scenario, world.size());
    }
}

/// The rank as set by the launcher, before there is a World.
std::string own_rank() {
    for (char const* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
        if (char const* const rank = std::getenv(name)) return rank;
    return "?";
}

/// The rank calls MPI_Init and dies before it makes a World.
void die_before_the_world() {
    write("pid." + own_rank(), std::to_string(::getpid()));
    if (own_rank() != std::to_string(at_fault)) return;
    sinew::MpiLibrary const mpi(0, nullptr);
    ::raise(SIGKILL);
}

int take_part(std::string const& scenario) {
    if (scenario == "killed_before") die_before_the_world();
    sinew::World world;
    std::string const self = std::to_string(world.rank());
    write("pid." + self, std::to_string(::getpid()));
    write("shm." + self, shared_memory());
    try {
        work(world, scenario);
        return other_status;
    } catch (sinew::Timeout const& error) {
        write("told." + self, std::string("Timeout: ") + error.what());
        return timeout_status;
    } catch (sinew::PeerLost const& error) {
        write("told." + self, std::string("PeerLost: ") + error.what());
        return peer_lost_status;
    }
}

int run(std::string const& scenario) {
    try {
        return take_part(scenario);
    } catch (std::logic_error const&) {
        wait_until_the_others_are_told(4);  // they must not be told of its death
        return other_status;
    } catch (sinew::Timeout const& error) {  // thrown by the constructor of World
        write("told." + own_rank(), std::string("Timeout: ") + error.what());
        ::_exit(timeout_status);  // MPI_Finalize would wait for rank 1
    } catch (std::exception const& error) {
        std::cerr << error.what() << '\n';
        return other_status;
    }
}

}  // namespace

// The rank is a child of the process that the launcher started, because MPICH's launcher always
// kills the other ranks when a process that it started dies by a signal. The parent records how the
// rank ended.
int main(int argc, char** argv) {
    if (argc != 3) return 2;
    folder = argv[2];
    std::signal(SIGUSR1, SIG_IGN);  // sent by MPICH's launcher when a process has ended early
    pid_t const child = ::fork();
    if (child == 0) return run(argv[1]);
    int status = 0;
    ::waitpid(child, &status, 0);
    write("status." + std::to_string(child),
          WIFEXITED(status) ? std::to_string(WEXITSTATUS(status)) : "signal");
    return 0;
}
