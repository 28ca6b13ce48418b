// SPDX-License-Identifier: Apache-2.0
#include "src/lease/host.hpp"

#include <sched.h>

#include <algorithm>
#include <limits>
#include <sinew/error.hpp>
#include <string>
#include <string_view>

#include "src/base/env.hpp"
#include "src/base/system/allowed_cpus.hpp"
#include "src/base/system/cgroup.hpp"
#include "src/base/text.hpp"
#include "src/lease/gpus/gpu_environment.hpp"
#include "src/lease/locks/layout.hpp"

namespace sinew::lease {
namespace {

void find_cpus(Host& host) {
    host.cpus = allowed_cpus();
    std::erase_if(host.cpus, [](int number) { return number >= CPU_SETSIZE; });
    host.most_cpus = static_cast<int>(host.cpus.size());
    if (auto const quota = cgroup_quota(); quota && *quota < host.most_cpus)
        host.most_cpus = std::max(1, static_cast<int>(*quota));
}

void find_memory(Host& host, std::optional<std::uint64_t> given) {
    auto const bounds = memory_bounds();
    if (auto const variable = env("SINEW_LEASE_MEMORY"); !given && variable)
        given = parse_bytes(*variable, "SINEW_LEASE_MEMORY");
    host.memory = given.value_or(bounds.host);
    if (host.memory == 0)
        throw Unavailable(
            "how much memory this host has is not known (no /proc/meminfo). Set SINEW_LEASE_MEMORY "
            "to the bytes that can be leased");
    auto const most = static_cast<std::uint64_t>(layout::memory.end - layout::memory.begin);
    if (host.memory > most)
        throw UsageError(
            text("SINEW_LEASE_MEMORY=", host.memory, " is too large (at most ", most, " bytes)"));
    host.most_memory = std::min(host.memory, bounds.cgroup.value_or(host.memory));
}

std::string counted(std::size_t count, char const* one) {
    return text(count, ' ', one, count == 1 ? "" : "s");
}

std::size_t resolve(int asked, std::size_t there, char const* one, std::string const& limited) {
    std::size_t const count = asked == LeaseRequest::all ? there : static_cast<std::size_t>(asked);
    if (count > there || (asked == LeaseRequest::all && there == 0))
        throw UsageError(text("a lease of ", asked == LeaseRequest::all ? "all" : text(asked), ' ',
                              one, count == 1 ? "" : "s", " was asked for, but there ",
                              there == 1 ? "is " : "are ", there, limited,
                              ". Ask for fewer: more will never be free"));
    return count;
}

}  // namespace

void check_request(LeaseRequest const& request) {
    if (request.gpus == 0 && request.cpus == 0 && request.memory_bytes == 0)
        throw UsageError(
            "a lease of nothing was asked for. Ask for GPUs, processors or memory (-1: all)");
    auto const check = [](int asked, char const* what) {
        if (asked < LeaseRequest::all)
            throw UsageError(text("a lease of ", asked, ' ', what,
                                  " was asked for (must be at least 1, or -1 for all)"));
    };
    check(request.gpus, "GPUs");
    check(request.cpus, "processors");
}

Host find_host(LeaseRequest const& request, LeaseOptions const& options) {
    Host host;
    if (request.gpus != 0) {
        refuse_leased_gpus();
        host.gpus = find_gpus(options.gpus_of_host);
    }
    if (request.cpus != 0) find_cpus(host);
    if (request.memory_bytes != 0) find_memory(host, options.memory_of_host);
    return host;
}

Needs needs_of(LeaseRequest const& request, Host const& host) {
    Needs needs;
    needs.gpus = resolve(request.gpus, host.gpus.gpus.size(), "GPU", host.gpus.limited);
    needs.cpus = resolve(request.cpus, static_cast<std::size_t>(host.most_cpus), "processor",
                         host.most_cpus < static_cast<int>(host.cpus.size())
                             ? " (CPU quota of the cgroup)"
                             : text(" (cpuset ", cpu_list(host.cpus), ')'));
    needs.memory =
        request.memory_bytes == LeaseRequest::all_memory ? host.most_memory : request.memory_bytes;
    if (needs.memory > host.most_memory)
        throw UsageError(text("a lease of ", needs.memory, " bytes of memory was asked for, but ",
                              "there are ", host.most_memory,
                              host.most_memory < host.memory ? " (limit of the cgroup)" : "",
                              ". Ask for less: more will never be free"));
    return needs;
}

std::string describe(Needs const& needs) {
    std::vector<std::string> parts;
    if (needs.gpus > 0) parts.push_back(counted(needs.gpus, "GPU"));
    if (needs.cpus > 0) parts.push_back(counted(needs.cpus, "processor"));
    if (needs.memory > 0) parts.push_back(counted(needs.memory, "byte") + " of memory");
    std::string all = parts.front();
    for (std::size_t i = 1; i < parts.size(); ++i)
        all += (i + 1 == parts.size() ? " and " : ", ") + parts[i];
    return all;
}

}  // namespace sinew::lease
