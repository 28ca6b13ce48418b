// SPDX-License-Identifier: Apache-2.0
#include <sinew/error.hpp>
#include <utility>

#include "launchers/acquire/process_provider.hpp"
#include "launchers/command_line/hosts/allocation.hpp"
#include "launchers/command_line/parse.hpp"
#include "launchers/slurm/in_job.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

std::vector<std::string> hosts_of_slurm(AcquireRequest const& request) {
    auto const allocation = find_allocation(ProcessContext::of_process());
    if (!allocation || !allocation->of_slurm)
        throw UsageError(
            "backend slurm needs an allocation of Slurm (SLURM_JOB_NODELIST is not set here, or "
            "this is a rank of sinew run). Start the program by sbatch or in salloc");
    if (!allocation->by_srun)
        throw UsageError("there is no srun in PATH. Debian: apt-get install slurm-client");
    if (!request.hosts.empty()) return request.hosts;
    std::vector<std::string> names;
    for (auto const& each : allocation->hosts) names.push_back(each.host);
    return names;
}

}  // namespace

std::unique_ptr<NodeProvider> make_slurm_provider(wire::Loop& loop, AcquireRequest const& request,
                                                  ProviderEvents events, int output_fd) {
    auto command = [request, hosts = hosts_of_slurm(request)](int index, std::string const& id) {
        auto const& host = hosts[static_cast<std::size_t>(index) % hosts.size()];
        // A step for each node, so that nodes come and go one by one.
        auto words = slurm::step_words({host});
        for (auto const& word :
             {std::string("--job-name=sinew-node"), std::string("--input=all"),
              std::string("--quit-on-interrupt"), std::string("--kill-on-bad-exit=1"),
              std::string("env"), std::string("SINEW_NODE_CONFIG=-"), text("SINEW_NODE_ID=", id),
              text("SINEW_NODE_NAME=", host)})
            words.push_back(word);
        words.insert(words.end(), request.command.begin(), request.command.end());
        return NodeCommand{.argv = std::move(words), .env = {}, .folder = request.folder};
    };
    return std::make_unique<ProcessProvider>(loop, request, std::move(events), output_fd,
                                             std::move(command));
}

}  // namespace sinew::launch
