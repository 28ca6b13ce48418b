// SPDX-License-Identifier: Apache-2.0
#include "src/world/bootstrap.hpp"

#include <sinew/error.hpp>

#include "src/base/env.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/transport/mpi_environment.hpp"
#include "src/transport/thread_transport.hpp"
#if SINEW_HAVE_MPI
#include "src/transport/mpi_library.hpp"
#endif

namespace sinew {

namespace {

/// Throws Unavailable if this process is one of several ranks: each would make a world of one.
void refuse_to_be_alone(Medium medium) {
    if (auto const variable = mpi_launcher_variable()) {
        if (medium == Medium::socket)
            throw Unavailable(text("a launcher started this process (", *variable,
                                   " is set), but it serves no PMIx, which SINEW_TRANSPORT=socket "
                                   "needs. Unset that, or start the program with sinew run"));
        throw Unavailable(text(
            "an MPI launcher started this process (", *variable,
            " is set), but this sinew was built without MPI. Build it with SINEW_WITH_MPI=ON, or "
            "start the program with sinew run, or without a launcher"));
    }
    auto const size = env("SINEW_SIZE");
    if (size && *size != "1")
        throw Unavailable(text("SINEW_SIZE=", *size,
                               " says that there are other ranks, but nothing says how to reach "
                               "them (SINEW_WORLD_FILE is not set). Start the program with sinew "
                               "run, or unset SINEW_SIZE"));
    // Only a warning: srun also starts independent programs of one process each.
    auto const tasks = env("SLURM_STEP_NUM_TASKS");
    if (tasks && *tasks != "1" && env("SLURM_PROCID").value_or("") == "0")
        log_warning(text("srun started ", *tasks,
                         " tasks, but serves no PMIx by which they find each other: each is a "
                         "world of its own. If they are to be one: srun --mpi=pmix"));
}

}  // namespace

Medium wanted_medium() {
    auto const value = env("SINEW_TRANSPORT");
    if (!value) return Medium::automatic;
    if (*value == "socket") return Medium::socket;
    if (*value == "mpi") return Medium::mpi;
    throw UsageError(text("SINEW_TRANSPORT=", *value,
                          " (must be socket or mpi). Unset it for the best one available"));
}

bool started_by_pmix() { return env("PMIX_RANK") && env("PMIX_NAMESPACE"); }

#if !SINEW_HAVE_PMIX
Bootstrap pmix_bootstrap() {
    throw Unavailable(
        "a PMIx server started this process (PMIX_RANK is set), but this sinew was built without "
        "PMIx and may not use MPI. Build it with SINEW_WITH_PMIX=ON, or start the program with "
        "sinew run");
}
#endif

Bootstrap alone_bootstrap() {
    ThreadHub hub(1);  // the transport outlives it
    return {.name = "alone", .transport = std::make_unique<ThreadTransport>(hub, 0)};
}

Bootstrap find_bootstrap([[maybe_unused]] int argc, [[maybe_unused]] char** argv) {
    Medium const medium = wanted_medium();
    if (started_by_agent()) return agent_bootstrap(argc, argv, medium);
#if SINEW_HAVE_MPI
    // MPI comes before PMIx, because it uses the PMIx server itself.
    bool const here = MpiLibrary::usable() || launched_by_mpi();
    if (medium != Medium::socket && here) return mpi_bootstrap(argc, argv);
#endif
    if (medium == Medium::mpi)
        throw Unavailable(
            "SINEW_TRANSPORT=mpi, but there is no MPI here (not built in, or no launcher has "
            "started this process). Start it with mpirun, or unset SINEW_TRANSPORT");
    if (started_by_pmix()) return pmix_bootstrap();
    refuse_to_be_alone(medium);
    return alone_bootstrap();
}

}  // namespace sinew
