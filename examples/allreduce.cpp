// SPDX-License-Identifier: Apache-2.0
//
// Sums and averages a million numbers of every rank: mpirun -n 4 ./allreduce, or ./allreduce alone.
#include <iostream>
#include <numeric>
#include <sinew/world.hpp>
#include <vector>

int main(int argc, char** argv) {
    sinew::World world(argc, argv);  // joins the other ranks; leaves at the end of main
    auto& comm = world.communicator();
    std::vector<float> gradient(1'000'000, static_cast<float>(comm.rank()));
    std::vector<float> mean(gradient.size());
    std::vector<double> other(1'000'000, 0.5);

    auto pending = comm.iallreduce(gradient, mean, sinew::average);            // in progress ...
    double const computed = std::accumulate(other.begin(), other.end(), 0.0);  // ... meanwhile
    pending.wait();

    comm.allreduce(gradient, sinew::sum);  // in place
    auto node = comm.split_node();         // the ranks on this machine
    int const neighbours = node.allreduce_value(1, sinew::sum);

    if (comm.rank() == 0)
        std::cout << comm.size() << " ranks, " << neighbours << " on this node: sum " << gradient[0]
                  << ", mean " << mean.back() << ", computed meanwhile " << computed << '\n';
}
