// SPDX-License-Identifier: Apache-2.0
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
// What it declares is what the library shows, though it is compiled with -fvisibility=hidden.
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop

// A name that the library shows and MPI's header may not declare.
#define SINEW_MPI_NAME __attribute__((visibility("default")))

#include <bit>
#include <cstdint>
#include <type_traits>

namespace sinew::pmpi {

/// The address of an object of the MPI library that this process has loaded, such as
/// "ompi_mpi_float"; null if it has none of that name.
void* predefined(char const* symbol);

/// A handle as a number, for tables.
template <class Handle>
std::uint64_t key_of(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>) return std::bit_cast<std::uintptr_t>(handle);
    else return static_cast<std::uint32_t>(handle);
}

}  // namespace sinew::pmpi

// In Open MPI a predefined handle is the address of an object. A preloaded library must not refer to
// it, since most programs that load the library have no MPI; so handles are looked up by name, when
// they are used first. By then MPI is loaded.
#ifdef OPEN_MPI
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global)                            \
    ([]() -> type {                                                     \
        static void* const object = ::sinew::pmpi::predefined(#global); \
        return static_cast<type>(object);                               \
    }())
#endif
