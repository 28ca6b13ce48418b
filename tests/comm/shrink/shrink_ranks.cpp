// SPDX-License-Identifier: Apache-2.0
// shrink_ranks SEED: the ranks of the world add numbers and kill one another until two are left, which print
// "left: A B after N sums". A failure prints "wrong".
#include <sinew/sinew.hpp>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include <unistd.h>

int main(int argc, char** argv) {
    sinew::World world(argc, argv);
    int const self = world.rank();
    std::mt19937 random(static_cast<unsigned>(std::atoi(argv[1]) * 1000 + self));
    std::optional<sinew::Communicator> left;
    sinew::Communicator* comm = &world.communicator();
    auto const wrong = [&](auto const&... words) {
        ((std::cout << "wrong: rank " << self << ": ") << ... << words) << std::endl;
        std::_Exit(1);
    };
    int sums = 0, total = 0;
    while (comm->size() > 2) {
        try {
            std::vector<int> count{static_cast<int>(1 + random() % 7)};
            comm->broadcast(count);
            std::vector<float> data(static_cast<std::size_t>(count[0]) * 5000, 1);
            // Ranks 0 and 1 of the world survive; others die anywhere, also while the others shrink.
            if (self > 1 && random() % 40 == 0) ::kill(::getpid(), SIGKILL);
            comm->allreduce(data, sinew::sum);
            if (data.front() != static_cast<float>(comm->size()) || data.back() != data.front())
                wrong("sum ", data.front(), " of ", comm->size());
            ++sums;
        } catch (sinew::PeerLost const&) {
            if (self > 1 && random() % 4 == 0) ::kill(::getpid(), SIGKILL);
            sinew::Communicator next = comm->shrink();
            left.emplace(std::move(next));
            comm = &*left;
        }
        if (++total > 100000) wrong("too many calls");
    }
    std::vector<int> members{self, self};
    comm->allgather(std::span(&self, 1), members);
    std::cout << "left: " << members[0] << ' ' << members[1] << " after " << sums << " sums"
              << std::endl;
    comm->barrier();
}
