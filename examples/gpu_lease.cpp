// SPDX-License-Identifier: Apache-2.0
//
// Runs a command with GPUs that nobody else on this host has meanwhile: gpu_lease 2 python3 train.py
// Waits until they are free. The lease is the command's: it ends when the command has ended, however
// that happens.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <sinew/gpu_lease.hpp>
#include <string>

int main(int argc, char** argv) try {
    if (argc < 3) {
        std::cerr << "usage: gpu_lease NUMBER COMMAND ARGUMENTS...   (-1: all GPUs)\n";
        return 2;
    }
    auto lease = sinew::GpuLease::acquire(std::stoi(argv[1]), {.set_environment = false});
    for (auto const& [name, value] : lease.environment()) ::setenv(name.c_str(), value.c_str(), 1);

    int const file = lease.hand_over();  // to the program that replaces this one
    ::fcntl(file, F_SETFD, 0);
    ::execvp(argv[2], argv + 2);
    std::perror(argv[2]);
    return 127;
} catch (std::exception const& error) {
    std::cerr << "gpu_lease: " << error.what() << '\n';
    return 1;
}
