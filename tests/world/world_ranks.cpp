// SPDX-License-Identifier: Apache-2.0
// One rank of a job started by a test:
//     world_ranks work BOOTSTRAP     uses the World in every way; 77 if there is no PMIx server
//     world_ranks die WHEN RANK      one rank kills itself (before, in a World)
//     world_ranks join               makes a World, or prints why not
#include <sinew/world.hpp>

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include <sinew/error.hpp>

namespace {

using namespace sinew;

void require(bool right, char const* what) {
    if (!right) throw std::runtime_error(std::string("wrong: ") + what);
}

void sum_up(Communicator& comm, std::size_t count) {
    std::vector<long> data(count, comm.rank() + 1);
    comm.allreduce(data, sum);
    long const expected = comm.size() * (comm.size() + 1L) / 2;
    for (long const value : data) require(value == expected, "a sum");
}

void pass_around(Communicator& comm, std::size_t count) {
    int const next = (comm.rank() + 1) % comm.size();
    int const previous = (comm.rank() + comm.size() - 1) % comm.size();
    std::vector<int> out(count, comm.rank()), in(count, -1);
    comm.sendrecv(out, next, in, previous);
    require(in == std::vector<int>(count, previous), "a message");
}

int work(std::string const& bootstrap) {
    if (bootstrap == "pmix" && std::getenv("PMIX_RANK") == nullptr) {
        std::cerr << "skipped: this launcher serves no PMIx\n";
        return 77;
    }
    World world;
    require(world.bootstrap() == bootstrap, "the bootstrap");
    if (char const* const size = std::getenv("SINEW_SIZE"))
        require(std::to_string(world.size()) == size, "the size");
    if (char const* const nodes = std::getenv("SINEW_NODES"))
        require(std::to_string(world.nodes().nodes()) == nodes, "the nodes");
    Communicator& comm = world.communicator();
    for (std::size_t const count : {1u, 100u, 3000u, 1000000u}) {
        sum_up(comm, count);
        pass_around(comm, count);
    }
    Communicator half = comm.split(comm.rank() % 2, -comm.rank());
    sum_up(half, 5000);
    Communicator node = comm.split_node();
    sum_up(node, 5000);
    std::vector<double> data(100000, 1.0);
    auto request = comm.iallreduce(data, sum);
    request.wait();
    require(data.back() == comm.size(), "a sum in the background");
    return 0;
}

int die(std::string const& when, int rank) {
    if (when == "before" && std::to_string(rank) == std::getenv("SINEW_RANK")) ::raise(SIGKILL);
    try {
        World world;
        sum_up(world.communicator(), 1000);
        if (when == "in" && world.rank() == rank) ::raise(SIGKILL);
        sum_up(world.communicator(), 1000);
    } catch (PeerLost const& error) {
        std::cerr << error.what() << '\n';
        return 0;
    }
    std::cerr << "nobody was missed\n";
    return 1;
}

int join() {
    World const world;
    std::cerr << world.bootstrap() << '\n';
    return 0;
}

}  // namespace

int main(int argc, char** argv) try {
    ::alarm(100);  // must end, however it was started
    std::vector<std::string> const words(argv + 1, argv + argc);
    if (words.size() == 2 && words[0] == "work") return work(words[1]);
    if (words.size() == 3 && words[0] == "die") return die(words[1], std::stoi(words[2]));
    if (words.size() == 1 && words[0] == "join") return join();
    std::cerr << "world_ranks work BOOTSTRAP | die before|in RANK | join\n";
    return 2;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
