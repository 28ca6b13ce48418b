// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include "src/base/waiting/deadlines.hpp"
#include "src/transport/mpi_library.hpp"
#include "src/transport/mpi_transport.hpp"
#include "src/world/bootstrap.hpp"

namespace sinew {

Bootstrap mpi_bootstrap(int argc, char** argv) {
    auto library = std::make_shared<MpiLibrary>(argc, argv);
    auto transport =
        std::make_unique<MpiTransport>(MPI_COMM_WORLD, detail::Deadlines::from_environment().late);
    Threading const threading = transport->threading();
    return {.name = "mpi",
            .transport = std::move(transport),
            .threading = threading,
            .leave = [library] { library->leave(); }};
}

}  // namespace sinew
