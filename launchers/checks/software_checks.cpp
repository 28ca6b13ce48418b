// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "launchers/checks/check.hpp"
#include "launchers/checks/facts.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

namespace {

/// Formats a list: "a, b, c and 5 more".
std::string some_of(std::vector<std::string> const& words) {
    constexpr std::size_t most = 4;
    std::string list;
    for (std::size_t index = 0; index < std::min(most, words.size()); ++index)
        list += (index == 0 ? "" : ", ") + words[index];
    return words.size() > most ? text(list, " and ", words.size() - most, " more") : list;
}

bool has_open_mpi(Facts const& facts) {
    return std::any_of(facts.mpi.begin(), facts.mpi.end(), [](MpiLibrary const& library) {
        return library.implementation == "Open MPI";
    });
}

Findings mpi(Facts const& facts) {
    if (facts.mpi.empty())
        return {{Severity::note, "no MPI library is known to the dynamic loader",
                 "none is installed; programs that use sinew alone need none",
                 "apt-get install openmpi-bin or mpich, to run MPI programs"}};
    Findings findings;
    for (auto const& library : facts.mpi)
        findings.push_back(
            fine(text(library.implementation, library.version.empty() ? "" : " " + library.version,
                      " (", library.library, ")")));
    return findings;
}

Findings pmix(Facts const& facts) {
    if (facts.pmix_usable) return {fine(facts.pmix.empty() ? "usable" : facts.pmix)};
    return {{has_open_mpi(facts) ? Severity::error : Severity::note, facts.pmix,
             "libpmix is not installed, or sinew was built without it",
             "apt-get install libpmix2, to start Open MPI programs"}};
}

Findings gpus(Facts const& facts) {
    GpuFacts const& gpus = facts.gpus;
    if (!gpus.no_driver.empty())
        return {{Severity::note, gpus.no_driver, "this host has no NVIDIA GPU, or no driver for it",
                 "nothing, unless programs here use GPUs"}};
    std::string const found = text(gpus.driver, ", ", gpus.count, " GPUs");
    if (gpus.count == 0)
        return {{Severity::warning, found,
                 "CUDA_VISIBLE_DEVICES is empty, or the container has none",
                 "see nvidia-smi, and what CUDA_VISIBLE_DEVICES names"}};
    if (!gpus.no_nccl.empty())
        return {{Severity::warning, gpus.no_nccl,
                 "without NCCL, data between GPUs passes through host memory, which is slow",
                 "apt-get install libnccl2, or set SINEW_NCCL_LIBRARY"}};
    return {fine(text(found, ", NCCL ", gpus.nccl))};
}

Findings environment(Facts const& facts) {
    if (facts.inherited.empty()) return {fine("no variables of other launchers")};
    return {{Severity::note, text("inherited: ", some_of(facts.inherited)),
             "this shell runs inside a job of another launcher; sinew hides these from the ranks",
             "nothing, if the job is meant to run here; else use a fresh shell"}};
}

Findings leftovers(Facts const& facts) {
    if (facts.stale_folders.empty()) return {fine("no folders of jobs that are gone")};
    return {{Severity::note, text("left behind: ", some_of(facts.stale_folders)),
             "agent and `sinew run` of a job were both killed at once",
             "nothing: the next `sinew run` here removes them"}};
}

Findings processes(Facts const& facts) {
    std::vector<std::string> orphans, zombies;
    for (auto const& stray : facts.strays)
        (stray.zombie ? zombies : orphans).push_back(std::to_string(stray.pid));
    Findings findings;
    if (!orphans.empty())
        findings.push_back(
            {Severity::warning, text("sinew agents without a parent: ", some_of(orphans)),
             "their `sinew run` was killed while they could not notice",
             text("kill ", orphans.front(), orphans.size() > 1 ? " and the others" : "")});
    if (!zombies.empty())
        findings.push_back({Severity::note, text("zombies of sinew: ", some_of(zombies)),
                            "process 1 of this container does not reap",
                            "start the container with an init (docker run --init)"});
    if (findings.empty()) findings.push_back(fine("no agents without a job"));
    return findings;
}

constexpr std::array all_software_checks{
    Check{"MPI", "which MPI libraries are installed", mpi},
    Check{"PMIx", "can Open MPI programs be served", pmix},
    Check{"GPUs", "can ranks communicate between GPUs", gpus},
    Check{"environment", "does this shell belong to another launcher's job", environment},
    Check{"leftovers", "are there folders of killed jobs", leftovers},
    Check{"agents", "are there agents without a job", processes},
};

}  // namespace

std::span<Check const> software_checks() { return all_software_checks; }

}  // namespace sinew::launch
