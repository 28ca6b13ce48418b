// SPDX-License-Identifier: Apache-2.0
// A program that leaves MPI to sinew: joins, works, leaves, and cannot join again.
#include <sinew/mpi.hpp>
#include <sinew/world.hpp>

#include <iostream>
#include <sinew/error.hpp>

int main(int argc, char** argv) {
    bool right = true;
    {
        sinew::World world(argc, argv);
        int level = MPI_THREAD_SINGLE;
        MPI_Query_thread(&level);
        right = world.bootstrap() == "mpi" && level == MPI_THREAD_MULTIPLE &&
                world.communicator().allreduce_value(1, sinew::sum) == world.size();
    }
    int finalized = 0;
    MPI_Finalized(&finalized);
    try {
        sinew::World again;
        std::cerr << "a second world after MPI_Finalize\n";
        right = right && again.bootstrap() == "alone";
    } catch (sinew::Unavailable const& error) {
        std::cerr << error.what() << '\n';
    }
    return right && finalized != 0 ? 0 : 1;
}
