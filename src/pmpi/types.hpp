// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "src/pmpi/mpi_abi.hpp"

namespace sinew::pmpi {

/// The layout of an MPI type.
struct TypeLayout {
    std::size_t size = 0;       ///< bytes of data of one element
    std::ptrdiff_t extent = 0;  ///< bytes from one element to the next
    std::ptrdiff_t first = 0;   ///< byte of the data of an element at its address, as a rule 0
    bool gapless = false;       ///< an array of elements is one block of data, which begins at 0
    bool flat = false;  ///< gapless, and the data lie there in the order in which they are sent
};

/// Returns the layout of a type that is not MPI_DATATYPE_NULL. Thread-safe.
TypeLayout layout_of(MPI_Datatype type);

/// Called once MPI is initialised, and before other threads call MPI.
void prepare_types();

}  // namespace sinew::pmpi
