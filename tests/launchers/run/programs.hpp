// SPDX-License-Identifier: Apache-2.0
// The paths of the programs that the tests start.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

namespace sinew::testing_support {

inline std::string rank_program() { return std::getenv("SINEW_TEST_RANK_PROGRAM"); }

/// An MPI library and the program built with it.
struct Mpi {
    std::string name, program;
    friend void PrintTo(Mpi const& mpi, std::ostream* out) { *out << mpi.name; }
};

/// The MPI libraries found when the tests were built.
inline std::vector<Mpi> mpis() {
    std::vector<Mpi> found;
    for (std::string const name : {"openmpi", "mpich"})
        if (char const* path = std::getenv(("SINEW_TEST_MPI_PROGRAM_" + name).c_str()))
            found.push_back({name, path});
    return found;
}

}  // namespace sinew::testing_support
