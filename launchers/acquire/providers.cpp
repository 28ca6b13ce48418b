// SPDX-License-Identifier: Apache-2.0
#include <sinew/error.hpp>
#include <utility>

#if SINEW_HAVE_K8S
#include "launchers/acquire/kubernetes_provider.hpp"
#endif
#include "launchers/acquire/node_provider.hpp"
#include "launchers/acquire/process_provider.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

std::vector<ProviderEntry> const& providers() {
    static std::vector<ProviderEntry> const table {
        {"local", make_local_provider}, {"ssh", make_ssh_provider},
            {"docker", make_docker_provider}, {"slurm", make_slurm_provider},
            {"service", make_service_provider},
#if SINEW_HAVE_K8S
            {"kubernetes", make_kubernetes_provider},
#endif
    };
    return table;
}

std::unique_ptr<NodeProvider> make_provider(wire::Loop& loop, AcquireRequest const& request,
                                            ProviderEvents events, int output_fd) {
    std::string names;
    for (auto const& entry : providers()) {
        if (entry.backend == request.backend)
            return entry.make(loop, request, std::move(events), output_fd);
        names += text(names.empty() ? "" : ", ", entry.backend);
    }
    throw UsageError(
        text("there is no backend ", request.backend, " for nodes (there are: ", names, ")"));
}

}  // namespace sinew::launch
