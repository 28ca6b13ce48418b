// SPDX-License-Identifier: Apache-2.0
//
// What is known by name: libraries, wrappers, and the search in PATH.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "launchers/program/program_kind.hpp"

namespace sinew::launch {

namespace {

template <std::size_t N>
bool is_one_of(std::string_view name, std::array<std::string_view, N> const& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// "libmpi.so.40.30.4" is split into "libmpi" and 40; the version is -1 if there is none.
struct LibraryName {
    std::string_view stem;
    int version = -1;
};

LibraryName split(std::string_view name) {
    auto const so = name.find(".so");
    LibraryName result{name.substr(0, so)};
    if (so == std::string_view::npos || so + 4 > name.size()) return result;
    int version = 0;
    for (char const digit : name.substr(so + 4, 4)) {
        if (digit < '0' || digit > '9') break;
        version = 10 * version + (digit - '0');
        result.version = version;
    }
    return result;
}

/// Returns "python" for "python3.11" and "gcc" for "gcc-12".
std::string_view without_version(std::string_view name) {
    auto const end = name.find_last_not_of("0123456789.-");
    return end == std::string_view::npos ? name : name.substr(0, end + 1);
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

int executable(std::string const& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return errno;
    if (!S_ISREG(status.st_mode)) return EACCES;
    return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

std::string within(std::string const& folder, std::string const& path) {
    if (folder.empty() || path.starts_with('/')) return path;
    return folder + '/' + path;
}

}  // namespace

ProgramKind kind_of_library(std::string const& name) {
    constexpr auto open_mpi = std::to_array<std::string_view>(
        {"libmpi_cxx", "libmpi_mpifh", "libmpi_usempif08", "libmpi_usempi_ignore_tkr", "libpmix",
         "liboshmem", "libopen-rte", "libmpi_java", "libmpi_usempi"});
    // These include Intel MPI, MVAPICH and Cray MPICH; libmpi.so.12 is the name of the MPICH ABI.
    constexpr auto mpich = std::to_array<std::string_view>(
        {"libmpich", "libmpichcxx", "libmpichfort", "libmpichf90", "libmpicxx", "libmpifort",
         "libmpi_cray", "libmpifort_cray"});
    auto const [stem, version] = split(file_name(name));
    ProgramKind kind;
    if (stem == "libmpi") {
        kind.mpich = version == 12;
        kind.open_mpi = version >= 0 && !kind.mpich;
        kind.unknown = version < 0;
    } else if (stem == "libmpi_abi") {
        kind.unknown = true;  // the standard ABI of all implementations
    } else if (stem == "libsinew" || stem == "libsinew_pmpi") {
        kind.sinew = true;
    } else {
        kind.mpich = is_one_of(stem, mpich);
        kind.open_mpi = is_one_of(stem, open_mpi);
    }
    return kind;
}

bool runs_other_programs(std::string const& path) {
    constexpr auto names = std::to_array<std::string_view>(
        {// languages
         "python", "pypy", "perl", "ruby", "julia", "java", "node", "nodejs", "lua", "luajit",
         "tclsh", "wish", "expect", "R", "Rscript", "octave", "octave-cli", "matlab", "MATLAB",
         "mono", "dotnet", "guile", "php", "ipython", "pyenv", "uv", "conda", "mamba",
         // shells and their tools
         "sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "busybox", "toybox",
         "env", "xargs", "find", "make", "ninja", "watch", "parallel", "script", "unbuffer",
         // process attributes
         "numactl", "taskset", "hwloc-bind", "chrt", "nice", "ionice", "time", "timeout", "nohup",
         "setsid", "stdbuf", "setarch", "linux32", "linux64", "prlimit", "likwid-pin",
         "likwid-perfctr",
         // other users, roots, containers and hosts
         "sudo", "su", "runuser", "setpriv", "chroot", "unshare", "nsenter", "ip", "bwrap", "tini",
         "dumb-init", "ssh",
         // debuggers, profilers and terminals
         "gdb", "lldb", "cuda-gdb", "valgrind", "strace", "ltrace", "perf", "rr", "heaptrack",
         "nsys", "ncu", "compute-sanitizer", "rocprof", "rocgdb", "hpcrun", "vtune", "advixe-cl",
         "map", "ddt", "forge", "totalview", "xterm", "gnome-terminal", "konsole", "apptainer",
         "singularity", "ch-run", "docker", "podman"});
    auto const name = file_name(path);
    auto const stem = without_version(name);
    return is_one_of(name, names) || is_one_of(stem, names) || name.starts_with("qemu-") ||
           name.starts_with("ld-linux") || name.starts_with("ld-musl");
}

FoundProgram find_program(std::string const& name, std::string const& folder,
                          std::string const& path_variable) {
    if (name.empty()) return {{}, ENOENT};
    if (name.find('/') != std::string::npos) {
        auto const path = within(folder, name);
        int const error = executable(path);
        return {error == 0 ? path : "", error};
    }
    int worst = ENOENT;
    std::string_view rest = path_variable;
    for (bool more = true; more;) {
        auto const colon = rest.find(':');
        more = colon != std::string_view::npos;
        std::string const entry(rest.substr(0, colon));
        rest.remove_prefix(more ? colon + 1 : rest.size());
        // An empty entry is the working folder.
        auto const path = within(folder, entry.empty() ? "./" + name : entry + '/' + name);
        int const error = executable(path);
        if (error == 0) return {path, 0};
        if (error == EACCES) worst = EACCES;
    }
    return {{}, worst};
}

}  // namespace sinew::launch
