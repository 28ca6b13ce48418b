// SPDX-License-Identifier: Apache-2.0
#include "src/world/bootstrap.hpp"

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/transport/mpi_environment.hpp"
#include "src/transport/thread_transport.hpp"
#if SINEW_HAVE_MPI
#include "src/transport/mpi_library.hpp"
#endif

namespace sinew {

Bootstrap alone_bootstrap() {
    ThreadHub hub(1);  // the transport outlives it
    return {.name = "alone", .transport = std::make_unique<ThreadTransport>(hub, 0)};
}

Bootstrap find_bootstrap([[maybe_unused]] int argc, [[maybe_unused]] char** argv) {
#if SINEW_HAVE_MPI
    if (MpiLibrary::usable() || launched_by_mpi()) return mpi_bootstrap(argc, argv);
#else
    // Going on would give as many worlds of one rank as there are processes.
    if (auto const variable = mpi_launcher_variable())
        throw Unavailable(text(
            "an MPI launcher started this process (", *variable,
            " is set), but this sinew was built without MPI. Build it with SINEW_WITH_MPI=ON, or "
            "start the program without a launcher"));
#endif
    return alone_bootstrap();
}

}  // namespace sinew
