// SPDX-License-Identifier: Apache-2.0
// A program with a World: world_program desert RANK. That rank exits with 0 without leaving the
// World; the others wait for each other.
#include <unistd.h>

#include <cstdlib>
#include <string>

#include <sinew/world.hpp>

int main(int argc, char** argv) {
    if (argc != 3 || std::string(argv[1]) != "desert") return 64;
    sinew::World world;
    world.communicator().barrier();
    if (world.rank() == std::atoi(argv[2])) ::_exit(0);
    world.communicator().barrier();
    return 0;
}
