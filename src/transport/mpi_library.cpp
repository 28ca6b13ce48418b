// SPDX-License-Identifier: Apache-2.0
#include "src/transport/mpi_library.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <vector>

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew {

namespace {

bool initialized() {
    int flag = 0;
    PMPI_Initialized(&flag);
    return flag != 0;
}

bool finalized() {
    int flag = 0;
    PMPI_Finalized(&flag);
    return flag != 0;
}

/// Returns the version number that follows `marker`, after an optional v, colon and blanks.
std::string_view number_after(std::string_view text, std::string_view marker) {
    auto const at = text.find(marker);
    if (at == std::string_view::npos) return {};
    text.remove_prefix(at + marker.size());
    text.remove_prefix(std::min(text.find_first_not_of("v: \t"), text.size()));
    return text.substr(0, text.find_first_of(", \t\n"));
}

}  // namespace

MpiLibrary::MpiLibrary(int argc, char** argv) {
    if (finalized())
        throw Unavailable(
            "MPI is finalised already (it can be used once per process). Make the sinew::World "
            "before MPI_Finalize.");
    if (initialized()) return;
    std::vector<char*> arguments(argv, argv + argc);
    arguments.push_back(nullptr);
    char** copy = arguments.data();
    int provided = MPI_THREAD_SINGLE;
    int const code = PMPI_Init_thread(&argc, &copy, MPI_THREAD_MULTIPLE, &provided);
    if (code != MPI_SUCCESS)
        throw BackendError(text("MPI_Init_thread failed (code ", code, ", ", version(),
                                "). Was the program started by the launcher of this MPI?"),
                           code);
    ours_ = true;
    // MPICH 4.0 calls the error handler of MPI_COMM_WORLD, not of a transfer's communicator.
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

void MpiLibrary::leave() {
    if (ours_ && !finalized()) PMPI_Finalize();
    ours_ = false;
}

bool MpiLibrary::usable() { return initialized() && !finalized(); }

std::string MpiLibrary::version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> buffer{};
    int length = 0;
    PMPI_Get_library_version(buffer.data(), &length);
    return version_in({buffer.data(), static_cast<std::size_t>(length)});
}

std::string MpiLibrary::version_in(std::string_view library_version) {
    struct Known {
        std::string_view name, marker;
    };
    // Libraries derived from MPICH name it further down, so the more specific markers come first.
    for (auto const& [name, marker] :
         {Known{"Open MPI", "Open MPI"}, Known{"MVAPICH", "MVAPICH Version"},
          Known{"MVAPICH2", "MVAPICH2 Version"}, Known{"Intel MPI", "MPI Library"},
          Known{"MPICH", "MPICH Version"}})
        if (auto const number = number_after(library_version, marker); !number.empty())
            return text(name, " ", number);
    return std::string(library_version.substr(0, library_version.find('\n')));
}

}  // namespace sinew
