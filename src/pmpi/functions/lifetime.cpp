// SPDX-License-Identifier: Apache-2.0
// MPI_Init(_thread), MPI_Finalize, MPI_Op_free, MPI_Alloc_mem and MPI_Free_mem.
#include <cstddef>

#include "src/pmpi/comm_route.hpp"
#include "src/pmpi/functions/interpose.hpp"
#include "src/pmpi/mpi_job.hpp"
#include "src/pmpi/operations.hpp"
#include "src/pmpi/real.hpp"
#include "src/pmpi/types.hpp"

namespace sinew::pmpi {

namespace {

/// Called at the end of MPI_Init, before other threads may call MPI.
int begin(int code) {
    if (code != MPI_SUCCESS) return code;
    prepare_routes();
    prepare_types();
    prepare_operations();
    MpiJob::begin();
    CallOutcome ignored{};
    find_route(MPI_COMM_WORLD, ignored);  // so that non-blocking calls can be the first
    return code;
}

}  // namespace

}  // namespace sinew::pmpi

using namespace sinew::pmpi;

extern "C" int MPI_Init(int* argc, char*** argv) { return begin(real().Init(argc, argv)); }
SINEW_ALSO_AS_PMPI(Init)

extern "C" int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    return begin(real().Init_thread(argc, argv, required, provided));
}
SINEW_ALSO_AS_PMPI(Init_thread)

extern "C" int MPI_Finalize() {
    MpiJob::end();
    return real().Finalize();
}
SINEW_ALSO_AS_PMPI(Finalize)

extern "C" int MPI_Op_free(MPI_Op* op) {
    handle_freed();
    return real().Op_free(op);
}
SINEW_ALSO_AS_PMPI(Op_free)

/// Memory of ours is read by the other ranks where it lies.
extern "C" int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void* result) {
    MpiJob* const job = MpiJob::current();
    void* memory = nullptr;
    if (job != nullptr && size > 0 && result != nullptr)
        memory = job->allocate(static_cast<std::size_t>(size));
    if (memory == nullptr) return real().Alloc_mem(size, info, result);
    *static_cast<void**>(result) = memory;
    return MPI_SUCCESS;
}
SINEW_ALSO_AS_PMPI(Alloc_mem)

extern "C" int MPI_Free_mem(void* memory) {
    return MpiJob::free(memory) ? MPI_SUCCESS : real().Free_mem(memory);
}
SINEW_ALSO_AS_PMPI(Free_mem)
