// SPDX-License-Identifier: Apache-2.0
// mpi_loss kill|exit|stay: rank 1 ends in this way (or stays, without another call). The other
// ranks detect it, inform each other, and leave. Rank 0 prints "all others know".
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>

#include "src/transport/mpi_library.hpp"
#include "src/transport/mpi_transport.hpp"

namespace {

using namespace sinew;
using Clock = std::chrono::steady_clock;

constexpr int victim = 1;

void wait(Transport& self, Transport::Ticket& ticket) {
    while (!self.test(ticket)) std::this_thread::yield();
}

[[noreturn]] void end(std::string_view way) {
    if (way == "kill") std::raise(SIGKILL);
    if (way == "stay") std::this_thread::sleep_for(std::chrono::seconds(3));
    ::_exit(0);
}

bool knows(Transport& self, int rank) {
    auto const lost = self.lost();
    return std::ranges::find(lost, rank) != lost.end();
}

/// All ranks but rank 1 and rank 0 inform rank 0, over the remaining communicator.
void gather_news(Transport& self) {
    std::byte word{1};
    for (int rank = 1; rank < self.size(); ++rank) {
        if (rank == victim || (self.rank() != 0 && self.rank() != rank)) continue;
        auto ticket = self.rank() == 0 ? self.start_receive(rank, 2, {&word, 1})
                                       : self.start_send(0, 2, {&word, 1});
        wait(self, ticket);
    }
}

void survive(Transport& self, Transport& reversed, Clock::time_point death, bool stays) {
    // Incomplete transfers with the lost rank must not keep others from leaving.
    std::vector<std::byte> in(100000), out(100000);
    auto receiving = self.start_receive(victim, 3, in);
    auto sending = self.start_send(victim, 3, out);
    if (!stays) {
        while (!knows(self, victim)) std::this_thread::sleep_for(std::chrono::microseconds(100));
        auto const after = std::chrono::duration<double, std::milli>(Clock::now() - death);
        if (!knows(reversed, self.size() - 1 - victim)) std::abort();
        std::printf("rank %d: rank %d is lost, known after %.2f ms\n", self.rank(), victim,
                    after.count());
    }
    self.cancel(receiving);
    self.cancel(sending);
    gather_news(self);
    if (self.rank() == 0) std::puts("all others know");
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    std::string_view const way = argc > 1 ? argv[1] : "kill";
    ::alarm(30);
    std::signal(SIGUSR1, SIG_IGN);  // sent by MPICH's mpiexec after a loss
    MpiLibrary mpi(argc, argv);
    {
        MpiTransport self(MPI_COMM_WORLD);
        std::vector<int> members;
        for (int rank = self.size(); rank-- > 0;) members.push_back(rank);
        auto const reversed = self.split(members, self.free_lane());
        auto death = Clock::now();
        std::span const message(reinterpret_cast<std::byte*>(&death), sizeof death);
        if (self.rank() == victim) {
            for (int rank = 0; rank < self.size(); ++rank) {
                if (rank == victim) continue;
                auto ticket = self.start_send(rank, 1, message);
                wait(self, ticket);
            }
            end(way);
        }
        auto ticket = self.start_receive(victim, 1, message);
        wait(self, ticket);
        survive(self, *reversed, death, way == "stay");
    }  // freeing the communicators is local
    std::printf("left\n");
    std::fflush(stdout);
    ::_exit(0);  // MPI_Finalize would wait for the lost rank
}
