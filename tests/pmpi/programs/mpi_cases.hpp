// SPDX-License-Identifier: Apache-2.0
// A program PROGRAM CASE that checks one rule of MPI, and prints "CASE: right" on rank 0.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

inline int rank = 0, size = 1;  // in MPI_COMM_WORLD

inline void require(bool right, std::string const& what) {
    if (right) return;
    std::fprintf(stderr, "rank %d: wrong: %s\n", rank, what.c_str());
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/// The end of a rank whose call, with errors returned, needed one that has died.
[[noreturn]] inline void end_after_loss(int code) {
    std::printf("killed: %s\n", code == MPI_SUCCESS ? "not noticed" : "right");
    std::fflush(stdout);
    std::_Exit(code == MPI_SUCCESS ? 1 : 0);  // MPI_Finalize would wait for the dead rank
}

/// The body of main(). The case "threads" needs MPI_THREAD_MULTIPLE.
inline int run_case(int argc, char** argv,
                    std::vector<std::pair<std::string, void (*)()>> const& cases) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::string const name = argc > 1 ? argv[1] : "";
    bool found = false;
    for (auto const& [known, run] : cases) {
        if (name != known) continue;
        found = true;
        require(name != "threads" || provided == MPI_THREAD_MULTIPLE,
                "this MPI has no MPI_THREAD_MULTIPLE");
        run();
    }
    require(found, "there is no case " + name);
    if (rank == 0) std::printf("%s: right\n", name.c_str());
    std::fflush(stdout);
    MPI_Finalize();
    return 0;
}
