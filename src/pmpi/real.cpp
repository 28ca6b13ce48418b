// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/real.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::pmpi {

namespace {

#ifdef OPEN_MPI
constexpr char const* built_for = "Open MPI";
constexpr char const* other = "MPICH";
constexpr bool needs_open_mpi = true;
#else
constexpr char const* built_for = "MPICH";
constexpr char const* other = "Open MPI";
constexpr bool needs_open_mpi = false;
#endif

[[noreturn]] void give_up(std::string const& why) {
    log_warning(text("libsinew_mpi.so: ", why,
                     ". Unset LD_PRELOAD, or let `sinew run --accelerate` set it"));
    ::_exit(1);
}

/// The loaded libraries whose names begin as those of MPI libraries do.
std::vector<std::string> loaded_mpi_libraries() {
    std::vector<std::string> names;
    ::dl_iterate_phdr(
        [](::dl_phdr_info* info, std::size_t, void* result) {
            std::string_view const path = info->dlpi_name;
            std::string_view const file = path.substr(path.rfind('/') + 1);
            if (file.starts_with("libmpi"))
                static_cast<std::vector<std::string>*>(result)->emplace_back(path);
            return 0;
        },
        &names);
    return names;
}

/// The MPI library. Python loads it with RTLD_LOCAL, where RTLD_NEXT does not find it.
void* library() {
    static void* const found = []() -> void* {
        for (std::string const& name : loaded_mpi_libraries()) {
            void* const handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
            if (handle != nullptr && ::dlsym(handle, "PMPI_Init") != nullptr) return handle;
        }
        return RTLD_NEXT;
    }();
    return found;
}

void* required(char const* name) {
    if (void* const found = ::dlsym(library(), name)) return found;
    give_up(text("the MPI library of this program has no ", name));
}

/// A persistent collective; null if this MPI has none. In Open MPI 4 it is part of an extension.
void* persistent(std::string const& name) {
    if (void* const found = ::dlsym(library(), ("PMPI_" + name).c_str())) return found;
    return ::dlsym(library(), ("PMPIX_" + name).c_str());
}

Real load() {
    if (::dlsym(library(), "PMPI_Init") == nullptr)
        give_up("this program calls MPI, but no MPI library is loaded");
    if ((predefined("ompi_mpi_comm_world") != nullptr) != needs_open_mpi)
        give_up(text("it was built for ", built_for, ", but this program uses ", other));
    Real table;
#define SINEW_FIND(name) \
    table.name = reinterpret_cast<decltype(table.name)>(required("PMPI_" #name));
    SINEW_PMPI_COLLECTIVES(SINEW_FIND)
    SINEW_PMPI_NON_BLOCKING(SINEW_FIND)
    SINEW_PMPI_OTHERS(SINEW_FIND)
#undef SINEW_FIND
#define SINEW_FIND(name) table.name = reinterpret_cast<decltype(table.name)>(persistent(#name));
    SINEW_PMPI_PERSISTENT(SINEW_FIND)
    SINEW_FIND(Barrier_init)
#undef SINEW_FIND
#if SINEW_MPI_LARGE_COUNTS
// A program's MPI may be older than the one that this library was compiled with. It then cannot call
// these functions, either.
#define SINEW_FIND(name) \
    table.name##_c =     \
        reinterpret_cast<decltype(table.name##_c)>(::dlsym(library(), "PMPI_" #name "_c"));
    SINEW_PMPI_COLLECTIVES(SINEW_FIND)
    SINEW_PMPI_NON_BLOCKING(SINEW_FIND)
    SINEW_PMPI_PERSISTENT(SINEW_FIND)
#undef SINEW_FIND
#endif
    return table;
}

}  // namespace

void* predefined(char const* symbol) {
    // A program that is not position-independent has copies of the library's objects, which count.
    if (void* const object = ::dlsym(RTLD_DEFAULT, symbol)) return object;
    return ::dlsym(library(), symbol);
}

Real const& real() {
    static Real const table = load();
    return table;
}

}  // namespace sinew::pmpi
