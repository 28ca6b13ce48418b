// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdlib>
#include <sinew/error.hpp>

#include "launchers/backends/backend.hpp"
#if SINEW_HAVE_K8S
#include "launchers/kubernetes/run.hpp"
#endif
#include "launchers/backends/docker.hpp"
#include "launchers/backends/local.hpp"
#include "launchers/backends/slurm.hpp"
#include "launchers/backends/ssh.hpp"
#include "launchers/command_line/options.hpp"
#include "launchers/common/host_name.hpp"
#include "launchers/program/program_kind.hpp"
#include "launchers/service/client/run.hpp"
#include "launchers/slurm/run.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

// Whether the hosts come from a batch system's allocation and are all this host.
bool is_only_here(RunOptions const& options) {
    return !options.hosts_from.empty() && options.launch_agent.empty() &&
           std::all_of(options.hosts.begin(), options.hosts.end(),
                       [](HostRequest const& host) { return is_this_host(host.host); });
}

std::string local_unusable(RunOptions const& options) {
    return options.hosts.empty() || is_only_here(options)
               ? ""
               : "hosts are named, and they need ssh or --launch-agent";
}

std::string ssh_unusable(RunOptions const& options) {
    if (!options.launch_agent.empty()) return "";
    char const* const path = ::getenv("PATH");
    if (find_program("ssh", "", path != nullptr ? path : "").error != 0)
        return text("there is no ssh in PATH",
                    options.hosts_from.empty() ? "" : " for the hosts of " + options.hosts_from,
                    ". Debian: apt-get install openssh-client");
    return "";
}

}  // namespace

std::vector<BackendEntry> const& backends() {
    static std::vector<BackendEntry> const table {
        {"local", "this host; --fake-nodes N simulates several", local_unusable, make_local},
            {"ssh",
             "hosts of --hostfile and -H, or of an allocation, by ssh or what --launch-agent names",
             ssh_unusable, make_ssh},
            {"docker", "containers on this host, by Docker or podman; needs --image",
             docker_unusable, make_docker},
            {"slurm",
             "nodes of Slurm: in its job by srun, elsewhere in a job that is submitted",
             slurm_unusable,
             make_slurm,
             slurm::run,
             slurm::plan},
#if SINEW_HAVE_K8S
            {"kubernetes",
             "pods of a cluster, by the kubeconfig; needs --image",
             [](RunOptions const&) { return std::string(); },
             nullptr,
             kubernetes::run,
             kubernetes::plan},
#else
            {"kubernetes", "pods of a cluster",
             [](RunOptions const&) {
                 return std::string(
                     "this sinew was built without libcurl or yaml-cpp. Debian: apt-get "
                     "install libcurl4-openssl-dev libyaml-cpp-dev, and build it again");
             },
             nullptr},
#endif
            {"service",         "a machine with sinew serve, which --at names",
             service::unusable, nullptr,
             service::run,      service::plan},
    };
    return table;
}

bool BackendEntry::runs_elsewhere(RunOptions const& options) const {
    return run != nullptr && (make == nullptr || options.hosts.empty());
}

BackendEntry const& choose_entry(RunOptions const& options) {
    std::string names;
    auto const wanted = options.backend != "auto"                         ? options.backend
                        : !options.service.at.empty()                     ? std::string("service")
                        : options.hosts.empty() || is_only_here(options)  ? std::string("local")
                        : options.by_srun && options.launch_agent.empty() ? std::string("slurm")
                                                                          : std::string("ssh");
    for (auto const& entry : backends()) {
        names += text(names.empty() ? "" : ", ", entry.name);
        if (entry.name != wanted) continue;
        if (auto const reason = entry.unusable(options); !reason.empty())
            throw UsageError(text("backend ", wanted, " is not usable here: ", reason));
        if (wanted == "ssh" && options.hosts.empty())
            throw UsageError("backend ssh needs hosts. Name them by -H or --hostfile");
        if (auto const& flag = options.kubernetes.first_flag;
            wanted != "kubernetes" && !flag.empty())
            throw UsageError(
                text(flag, " is for --backend kubernetes (the backend is ", wanted, ")"));
        if (auto const& flag = options.kubernetes.shared_flag;
            wanted != "kubernetes" && wanted != "docker" && wanted != "service" && !flag.empty())
            throw UsageError(
                text(flag, " is for --backend docker or kubernetes, or --at (the backend is ",
                     wanted, ")"));
        if (auto const& flag = options.docker.first_flag; wanted != "docker" && !flag.empty())
            throw UsageError(text(flag, " is for --backend docker (the backend is ", wanted, ")"));
        if (auto const& flag = options.slurm.first_flag; wanted != "slurm" && !flag.empty())
            throw UsageError(text(flag, " is for --backend slurm (the backend is ", wanted, ")"));
        if (auto const& flag = options.service.first_flag; wanted != "service" && !flag.empty())
            throw UsageError(text(flag, " is for jobs of a sinew serve (the backend is ", wanted,
                                  "). Name one by --at"));
        if (auto const& flag = options.detach_flag;
            wanted != "kubernetes" && wanted != "slurm" && wanted != "service" && !flag.empty())
            throw UsageError(text(flag,
                                  " is for --backend kubernetes or slurm, or --at (the backend is ",
                                  wanted, ")"));
        return entry;
    }
    throw UsageError(text("there is no backend ", wanted, " (there are: ", names, ")"));
}

std::unique_ptr<Backend> choose_backend(RunOptions const& options) {
    return choose_entry(options).make(options);
}

}  // namespace sinew::launch
