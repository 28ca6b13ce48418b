// SPDX-License-Identifier: Apache-2.0
// A program with a World: world_program desert|differ|sleep RANK. That rank exits with 0 without
// leaving the World; or makes another call than the others, who wait for each other; or comes to no
// further call.
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <sinew/world.hpp>

int main(int argc, char** argv) {
    std::string const what = argc == 3 ? argv[1] : "";
    if (what != "desert" && what != "differ" && what != "sleep") return 64;
    sinew::World world;
    sinew::Communicator& comm = world.communicator();
    comm.barrier();
    bool const here = world.rank() == std::atoi(argv[2]);
    if (what == "desert" && here) ::_exit(0);
    if (what == "sleep" && here) ::sleep(600);
    std::vector<float> data(100'000);
    if (what == "differ" && here) comm.broadcast(data, 0);
    else comm.allreduce(data, sinew::sum);
    comm.barrier();
    return 0;
}
