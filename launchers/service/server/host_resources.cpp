// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/server/host_resources.hpp"

#include <sinew/error.hpp>
#include <sinew/lease.hpp>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/lease/host.hpp"

namespace sinew::launch::service {

Resources resources_of_host() {
    auto request = LeaseRequest{.gpus = LeaseRequest::all,
                                .cpus = LeaseRequest::all,
                                .memory_bytes = LeaseRequest::all_memory};
    lease::Host host;
    try {
        host = lease::find_host(request, {});
    } catch (Unavailable const& problem) {
        log_warning(text("this server has no GPUs: ", problem.what()));
        request.gpus = 0;
        host = lease::find_host(request, {});
    }
    return {.gpus = static_cast<int>(host.gpus.gpus.size()),
            .cpus = host.most_cpus,
            .memory = host.most_memory};
}

}  // namespace sinew::launch::service
