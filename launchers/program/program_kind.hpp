// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::launch {

/// The process managers that a program is expected to contact. All four false: a plain program.
struct ProgramKind {
    bool open_mpi = false;  ///< PMIx
    bool mpich = false;     ///< PMI-1: MPICH, Intel MPI, MVAPICH, Cray MPICH
    bool sinew = false;     ///< sinew's; the MPI that its libsinew uses is in the other two
    bool unknown = false;   ///< can only be known by running it: offer all of them
    std::string why;        ///< for --verbose: "./prog wants libmpi.so.40"
    std::string path;       ///< the path found for argv[0]
    int error = 0;  ///< ENOENT, EACCES or ENOEXEC if it cannot be started; `why` explains it
};

/// Determines from the file what a program is, without running it. argv[0] is searched as by
/// execvp, with `folder` (empty: the current one) as working directory and `path_variable` as PATH.
///
/// Scripts, interpreters, wrappers (python, env, numactl, gdb, timeout, ...) and static programs
/// are unknown, unless a later element of argv is itself an MPI program. Reads a few pages of the
/// file. If these do not suffice, it asks the program's dynamic loader (`--list`, at most 5 s), for
/// which `environment` ("NAME=value"; empty: this process's) provides LD_LIBRARY_PATH and
/// LD_PRELOAD.
ProgramKind inspect(std::vector<std::string> const& argv, std::string const& folder,
                    std::string const& path_variable,
                    std::vector<std::string> const& environment = {});

/// Classifies a library by name. `why` and `path` of the result are empty.
ProgramKind kind_of_library(std::string const& name);
/// Whether programs with this file name run other programs: "python3.11", "/usr/bin/env".
bool runs_other_programs(std::string const& path);

/// The path at which execvp would find a program, or an empty path and an error number.
struct FoundProgram {
    std::string path;
    int error = 0;
};
FoundProgram find_program(std::string const& name, std::string const& folder,
                          std::string const& path_variable);

}  // namespace sinew::launch
