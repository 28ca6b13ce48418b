// SPDX-License-Identifier: Apache-2.0
#include "launchers/cli/accelerate.hpp"

#include <sinew/error.hpp>

#include "launchers/agent/rank_environment.hpp"
#include "launchers/program/mpi_library.hpp"
#include "launchers/program/program_kind.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

/// "openmpi" or "mpich"; empty: the program is not there, which is reported later.
std::string mpi_of(App const& app, RunOptions const& options, Variables& variables) {
    if (options.accelerate != "auto") return options.accelerate;
    auto const kind = inspect(app.argv, app.folder.empty() ? options.folder : app.folder,
                              variables["PATH"], as_list(variables));
    if (kind.error != 0) return {};
    if (kind.open_mpi != kind.mpich) return kind.open_mpi ? "openmpi" : "mpich";
    if (!kind.open_mpi && !kind.unknown)
        throw UsageError(
            text("--accelerate: ", app.argv.front(),
                 " is not an MPI program (it needs no MPI library). Leave out the flag"));
    throw UsageError(text("--accelerate: cannot tell which MPI ", app.argv.front(), " uses (",
                          kind.why, "). Say --accelerate=openmpi or --accelerate=mpich"));
}

}  // namespace

void accelerate(RunOptions& options) {
    if (options.accelerate.empty()) return;
    for (App& app : options.apps) {
        auto variables = own_variables();
        for (auto const& [name, value] : options.env) variables.insert_or_assign(name, value);
        for (auto const& [name, value] : app.env) variables.insert_or_assign(name, value);
        auto const mpi = mpi_of(app, options, variables);
        if (mpi.empty()) continue;
        auto const others = variables.find("LD_PRELOAD");
        bool const alone = others == variables.end() || others->second.empty();
        app.env["LD_PRELOAD"] = mpi_library(mpi) + (alone ? "" : ":" + others->second);
    }
}

}  // namespace sinew::launch
