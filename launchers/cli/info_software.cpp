// SPDX-License-Identifier: Apache-2.0
//
// The sections of `sinew info` about the build.
#include <sinew/comm/algorithm.hpp>
#include <sinew/version.hpp>

#include "collectives/catalogue.hpp"
#include "collectives/kernels/targets.hpp"
#include "launchers/cli/info_sections.hpp"
#include "launchers/pmi/pmix_server.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

namespace {

std::string compiler() {
#if defined(__clang__)
    return text("clang ", __clang_major__, '.', __clang_minor__, '.', __clang_patchlevel__);
#elif defined(__GNUC__)
    return text("gcc ", __GNUC__, '.', __GNUC_MINOR__, '.', __GNUC_PATCHLEVEL__);
#else
    return "unknown";
#endif
}

std::string mpi() {
#if SINEW_HAVE_MPI
    std::string_view const vendor = SINEW_MPI_VENDOR;
    if (vendor == "openmpi") return "Open MPI";
    if (vendor == "mpich") return "MPICH";
    return "some other";
#else
    return "none (built without)";
#endif
}

}  // namespace

Section build_section() {
    bool usable = false;
    std::string const pmix = PmixServer::describe(usable);
    return {{"version", version()},
            {"compiler", compiler()},
            {"MPI of the library", mpi()},
            {"PMIx, for Open MPI programs", usable ? pmix : "not usable: " + pmix},
            {"PMI-1, for MPICH programs", true},
            {"hwloc", SINEW_HAVE_HWLOC != 0},
            {"vector instructions", collectives::kernels::targets()}};
}

Section transports_section() {
    Section table = Section::array();
    table.push_back({{"name", "threads"},
                     {"usable", true},
                     {"suits", "ranks that are threads of one process: tests, examples"}});
    table.push_back({{"name", "mpi"},
                     {"usable", SINEW_HAVE_MPI != 0},
                     {"suits", "ranks of an MPI program: whatever network its MPI knows"}});
    table.push_back(
        {{"name", "socket"},
         {"usable", true},
         {"suits", "ranks of `sinew run` where there is no MPI: Unix sockets and TCP"}});
    return table;
}

Section algorithms_section() {
    Section table = Section::array();
    for (int index = 0; index < collectives_count; ++index) {
        auto const collective = static_cast<Collective>(index);
        for (auto const& algorithm : collectives::algorithms(collective))
            table.push_back({{"collective", name(collective)},
                             {"algorithm", algorithm.name},
                             {"suits", algorithm.suits}});
    }
    return table;
}

}  // namespace sinew::launch
