// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <vector>

#include <sinew/sinew.hpp>
#include <sinew/version.hpp>

int main(int argc, char** argv) {
    sinew::World world(argc, argv);
    std::vector<float> data(1000, 1);
    world.communicator().allreduce(data, sinew::sum);
    std::cout << "sinew " << sinew::version() << ": sum " << data[0] << " of " << world.size()
              << '\n';
}
