// SPDX-License-Identifier: Apache-2.0
#include "launchers/cli/run_main.hpp"

#include <algorithm>
#include <csignal>
#include <iostream>
#include <sinew/error.hpp>

#include "launchers/backends/backend.hpp"
#include "launchers/cli/accelerate.hpp"
#include "launchers/cli/preflight.hpp"
#include "launchers/command_line/help.hpp"
#include "launchers/command_line/parse.hpp"
#include "launchers/common/host_name.hpp"
#include "launchers/job/job_run.hpp"
#include "launchers/map/binding.hpp"
#include "launchers/map/mapping.hpp"
#include "launchers/slurm/native.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

int show_version() {
    std::cout << version_text();
    return 0;
}

int show_help(std::string const& topic) {
    std::cout << help_text(topic);
    return 0;
}

// Implements --dry-run: prints the map, as far as it is known without asking the hosts.
int show_plan(RunOptions const& options) {
    auto nodes = requested_nodes(options, host_name());
    auto const backend = choose_backend(options);
    bool guessed = false;
    for (auto& node : nodes) {
        if (backend->on_this_host() || options.backend == "docker") node.cores = usable_cores();
        guessed = guessed || (node.cores == 0 && node.slots == 0);
        if (node.cores == 0) node.cores = std::max(node.slots, 1);
    }
    auto const map = make_map(options, std::move(nodes));
    // Agents on other hosts check their programs themselves, when they start.
    auto const missing = backend->on_this_host() ? check_programs(options, map) : FirstCause();
    if (missing.failed()) std::cerr << "sinew: " << missing.summary() << '\n';
    if (options.output == OutputFormat::json) {
        std::cout << map_json(map, options.apps, options.hosts_from) << '\n';
        return missing.exit_code();
    }
    std::cout << show_map(map, options.apps) << "backend: " << backend->name() << '\n';
    if (!options.hosts_from.empty())
        std::cout << "hosts: from " << options.hosts_from << "; -H, --hostfile or --backend local "
                  << "select others\n";
    if (guessed)
        std::cout << "(some hosts have no slots= here: they will say how many cores they have when "
                     "their agents start; 1 is shown)\n";
    return missing.exit_code();
}

}  // namespace

int run_main(std::vector<std::string> const& arguments) {
    auto options = parse_run(arguments, ProcessContext::of_process());
    if (options.version) return show_version();
    if (options.help) return show_help(*options.help);
    if (options.verbosity >= 0)
        for (auto const& note : options.notes) std::cerr << "sinew: " << note << '\n';
    if (options.verbosity >= 1 && !options.hosts_from.empty())
        std::cerr << "sinew: hosts: from " << options.hosts_from << '\n';
    auto const& backend = choose_entry(options);
    bool const elsewhere = backend.runs_elsewhere(options);
    if (elsewhere && backend.make == nullptr && !options.accelerate.empty())
        throw UsageError(text("--accelerate is not for --backend ", backend.name,
                              " (the program is in the image). Put libsinew_mpi.so into the image "
                              "and say -x LD_PRELOAD=PATH"));
    if ((elsewhere || options.slurm.native) && options.dashboard)
        throw UsageError(text("--dashboard is not for a job whose root runs elsewhere (--backend ",
                              backend.name, "). sinew ps, logs and attach show it"));
    if (options.slurm.native) return slurm::run_native(options);
    if (elsewhere) return options.dry_run ? backend.plan(options) : backend.run(options);
    accelerate(options);
    if (options.kubernetes.yaml)
        throw UsageError(
            text("--dry-run=yaml is for --backend kubernetes (the backend is ", backend.name, ")"));
    if (options.dry_run) return show_plan(options);
    check_folders(options);
    check_root_address(options);
    ::signal(SIGPIPE, SIG_IGN);
    JobRun run(std::move(options));
    return run.run();
}

int help_main(std::string const& verb, std::vector<std::string> const& arguments) {
    if (verb == "--version" || verb == "-V" || verb == "version") return show_version();
    if (verb == "help" || verb == "--help" || verb == "-h")
        return show_help(arguments.empty() ? "" : arguments.front());
    throw UsageError(text("there is no command ", verb,
                          " (there are: run, ps, logs, attach, stop, scale, cp, events, forward, "
                          "acquire, agent, serve, registry, info, doctor, help). See sinew help"));
}

}  // namespace sinew::launch
