// SPDX-License-Identifier: Apache-2.0
#include "launchers/program/mpi_library.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include <sinew/error.hpp>

#include "launchers/common/own_path.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

constexpr char const* library_file = "libsinew_mpi.so";

bool is_readable(std::filesystem::path const& path) { return ::access(path.c_str(), R_OK) == 0; }

}  // namespace

std::string mpi_library(std::string const& mpi) {
    namespace fs = std::filesystem;
    auto const prefix = fs::path(own_path()).parent_path().parent_path();
    auto const path = prefix / SINEW_MPI_LIBRARY_FOLDER / mpi / library_file;
    if (is_readable(path)) return path;
    throw UsageError(text("--accelerate: there is no ", path.string(),
                          " (sinew was built where the compiler mpicc.", mpi,
                          " was not installed, or was not installed whole). Install lib", mpi,
                          "-dev and build sinew again"));
}

void refuse_without_mpi_library(std::map<std::string, std::string> const& variables,
                                ProgramKind& kind) {
    auto const preload = variables.find("LD_PRELOAD");
    if (kind.error != 0 || preload == variables.end()) return;
    std::filesystem::path const first = preload->second.substr(0, preload->second.find(':'));
    if (first.filename() != library_file || is_readable(first)) return;
    kind.error = ENOENT;
    kind.why = text(first.string(), " is not on this host. --accelerate needs sinew at the same ",
                    "place on all hosts");
}

}  // namespace sinew::launch
