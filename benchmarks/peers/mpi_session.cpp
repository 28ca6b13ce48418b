// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/peers/mpi_session.hpp"

#include <mpi.h>

#include <array>
#include <sinew/error.hpp>

#include "benchmarks/peers/openmpi_peer.hpp"
#include "benchmarks/support/text.hpp"
#include "src/transport/mpi_environment.hpp"
#include "src/world/bootstrap.hpp"

namespace sinew::bench {

namespace {

/// Whether World will take MPI (see find_bootstrap).
bool world_takes_mpi() {
    if (wanted_medium() == Medium::socket) return false;
    return started_by_agent() ? mpi_is_served() : launched_by_mpi();
}

bool initialized() {
    int begun = 0, ended = 0;
    PMPI_Initialized(&begun);
    PMPI_Finalized(&ended);
    return begun != 0 && ended == 0;
}

}  // namespace

MpiSession::MpiSession(int argc, char** argv, MpiThread level,
                       std::vector<std::string> const& peers) {
    if (!world_takes_mpi()) return;
    prepare_openmpi(peers);
    std::vector<char*> arguments(argv, argv + argc);  // MPI may change its copy
    arguments.push_back(nullptr);
    char** copy = arguments.data();
    int provided = MPI_THREAD_SINGLE;
    int const wanted = level == MpiThread::single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE;
    int const code = PMPI_Init_thread(&argc, &copy, wanted, &provided);
    if (code != MPI_SUCCESS)
        throw BackendError(
            text("MPI_Init_thread (--mpi-thread ", name(level), ") failed with code ", code,
                 ". Was the program started by the launcher of this MPI?"),
            code);
    ours_ = true;
    // A failure is to be reported by whoever made the call, not to end the program.
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

void MpiSession::leave() {
    if (ours_ && initialized()) PMPI_Finalize();
    ours_ = false;
}

std::string mpi_thread_level() {
    if (!initialized()) return {};
    struct Level {
        int value;
        std::string_view name;
    };
    constexpr std::array levels{
        Level{MPI_THREAD_SINGLE, "single"}, Level{MPI_THREAD_FUNNELED, "funneled"},
        Level{MPI_THREAD_SERIALIZED, "serialized"}, Level{MPI_THREAD_MULTIPLE, "multiple"}};
    int provided = 0;
    PMPI_Query_thread(&provided);
    for (auto const& [value, word] : levels)
        if (value == provided) return std::string(word);
    return text(provided);
}

}  // namespace sinew::bench
