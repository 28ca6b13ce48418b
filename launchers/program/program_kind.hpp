// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::launch {

/// Which process managers a program will want to talk to. All four false: none, a plain program.
struct ProgramKind {
    bool open_mpi = false;  ///< PMIx
    bool mpich = false;     ///< PMI-1: MPICH, Intel MPI, MVAPICH, Cray MPICH
    bool sinew = false;     ///< ours; what its libsinew is linked with is in the other two
    bool unknown = false;   ///< cannot be told without running it: be ready for each
    std::string why;        ///< for --verbose: "./prog wants libmpi.so.40"
    std::string path;       ///< of argv[0], as found
    int error = 0;  ///< why it cannot be started: ENOENT, EACCES or ENOEXEC; `why` says it in words
};

/// Tells from the file what a program is, without running it. argv[0] is found as by execvp, with
/// `folder` (empty: the current one) as working directory and `path_variable` as PATH.
///
/// Scripts, interpreters, wrappers (python, env, numactl, gdb, timeout, ...) and static programs are
/// unknown, unless a later element of argv is itself an MPI program. Reads a few pages of the file;
/// where that does not settle it, asks the program's own dynamic loader (`--list`, 5 s at most), for
/// which `environment` ("NAME=value"; empty: this process's) holds LD_LIBRARY_PATH and LD_PRELOAD.
ProgramKind inspect(std::vector<std::string> const& argv, std::string const& folder,
                    std::string const& path_variable,
                    std::vector<std::string> const& environment = {});

/// What a library of this name stands for; the parts of `why` and `path` are empty.
ProgramKind kind_of_library(std::string const& name);
/// Whether programs of this file name run other programs: "python3.11", "/usr/bin/env".
bool runs_other_programs(std::string const& path);

/// Where execvp would find `name`: the path, or an error number with an empty one.
struct FoundProgram {
    std::string path;
    int error = 0;
};
FoundProgram find_program(std::string const& name, std::string const& folder,
                          std::string const& path_variable);

}  // namespace sinew::launch
