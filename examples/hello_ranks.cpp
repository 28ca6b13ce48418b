// SPDX-License-Identifier: Apache-2.0
//
// Prints each rank and its place: mpirun -n 4 ./hello_ranks, or ./hello_ranks alone.
#include <array>
#include <cstddef>
#include <exception>
#include <iostream>
#include <sinew/error.hpp>
#include <sinew/version.hpp>
#include <sinew/world.hpp>
#include <sstream>
#include <string>
#include <string_view>

namespace {

std::string greeting(sinew::World const& world) {
    auto const& nodes = world.nodes();
    std::ostringstream text;
    text << "rank " << world.rank() << " of " << world.size() << " on "
         << nodes.host_of(world.rank()) << ": node " << nodes.node << " of " << nodes.nodes()
         << ", " << nodes.local_rank << " of " << nodes.local_size << " there";
    return text.str();
}

/// Every rank could print its own line, but lines of several processes appear in any order.
/// Therefore rank 0 receives them, one rank after another, and prints them all.
void print_in_order(sinew::Communicator& comm, std::string const& line) {
    if (comm.rank() != 0) {
        comm.send(line, 0);
        return;
    }
    std::cout << line << '\n';
    for (int from = 1; from < comm.size(); ++from) {
        std::array<char, 512> buffer;  // may be longer than the message; `count` is its length
        std::size_t const count = comm.recv(buffer, from).count;
        std::cout << std::string_view(buffer.data(), count) << '\n';
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        sinew::World world(argc, argv);
        if (world.rank() == 0)
            std::cout << "sinew " << sinew::version() << ", joined by: " << world.bootstrap()
                      << '\n';
        print_in_order(world.communicator(), greeting(world));
    } catch (sinew::Error const& error) {
        std::cerr << "hello_ranks: " << error.what() << '\n';
        return 1;
    }
}
