// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "launchers/checks/check.hpp"
#include "launchers/checks/facts.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

namespace {

constexpr double mebi = 1024.0 * 1024;

std::string value(std::optional<std::uint64_t> const& limit) {
    return limit ? std::to_string(*limit) : "unlimited";
}

std::string bytes_value(std::optional<std::uint64_t> const& limit) {
    return limit ? bytes_text(static_cast<double>(*limit)) : "unlimited";
}

Findings shared_memory(Facts const& facts) {
    auto const& shm = facts.shm;
    if (!shm.error.empty())
        return {{Severity::error, text("/dev/shm cannot be written to (", shm.error, ")"),
                 "it is not mounted, or read-only in this container",
                 "mount a tmpfs there; until then set SINEW_TMPDIR to a folder on a local disk"}};
    auto const total = static_cast<double>(shm.total), free = static_cast<double>(shm.free);
    std::string const found =
        text("/dev/shm has ", bytes_text(total), ", ", bytes_text(free), " free");
    if (free < 16 * mebi)
        return {{Severity::error, found, "it is full: segments of jobs that were killed, or files",
                 "look with ls -l /dev/shm; remove what belongs to no running process"}};
    if (total <= 64 * mebi)
        return {{Severity::warning, found, "64 MiB is what container runtimes give by default",
                 "docker run --shm-size=1g, or a memory emptyDir at /dev/shm on Kubernetes"}};
    if (free < 256 * mebi)
        return {{Severity::warning, found, "other jobs or files take most of it",
                 "look with ls -l /dev/shm; large messages between ranks need it"}};
    return {fine(found)};
}

Findings locked_memory(Facts const& facts) {
    std::string const found = text("limit of locked memory: ", bytes_value(facts.memlock.soft));
    if (!facts.memlock.soft || static_cast<double>(*facts.memlock.soft) >= 1024 * mebi)
        return {fine(found)};
    return {{Severity::note, found, "the system's default (limits.conf, or the container's)",
             "ulimit -l unlimited, where InfiniBand, RoCE or GPUs register memory"}};
}

Findings open_files(Facts const& facts) {
    auto const& limit = facts.open_files;
    std::string const found = text("limit of open files: ", value(limit.soft),
                                   " (may be raised to ", value(limit.hard), ")");
    if (!limit.soft || *limit.soft >= 4096) return {fine(found)};
    if (*limit.soft < 256)
        return {{Severity::error, found, "it was set very low", "ulimit -n 4096"}};
    return {{*limit.soft < 1024 ? Severity::warning : Severity::note, found,
             "the default of most systems: enough for about 100 ranks on a node",
             "ulimit -n 4096, or nofile in limits.conf, for more"}};
}

Findings cores(Facts const& facts) {
    auto const& machine = facts.processors;
    std::string found = text(machine.cores.size(), " usable cores, ", machine.hardware_threads(),
                             " hardware threads");
    if (machine.quota && *machine.quota < machine.hardware_threads())
        return {{Severity::warning,
                 text(found, ", but the cgroup grants the time of ", *machine.quota),
                 "a cpu limit of the container: ranks that wait for each other are stopped in turn",
                 text("ask for whole cores (a cpu request, no limit), or run ", machine.slots(),
                      machine.slots() == 1 ? " rank here" : " ranks here")}};
    if (!machine.topology_known)
        return {{Severity::note, text(found, ", counted without topology"),
                 "sinew was built without hwloc",
                 "build with libhwloc-dev to bind ranks to cores"}};
    return {fine(found)};
}

Findings clock_source(Facts const& facts) {
    auto const& source = facts.clock_source;
    for (auto const* const slow : {"hpet", "acpi_pm", "jiffies", "pit", "refined-jiffies"})
        if (source == slow)
            return {
                {Severity::warning, text("clock source: ", source),
                 "the kernel did not trust the processor's counter; reading the time is slow now",
                 "see `dmesg | grep -i tsc`; boot with tsc=reliable if the machine is sound"}};
    return {fine(text("clock source: ", source.empty() ? "unknown" : source))};
}

Findings core_files(Facts const& facts) {
    auto const& soft = facts.core_size.soft;
    std::string const found = text("limit of core files: ", bytes_value(soft));
    if (!soft || *soft > 0) return {fine(found)};
    return {{Severity::note, found, "the default: a rank that crashes leaves no core file",
             "ulimit -c unlimited, when you look for a crash"}};
}

Findings single_copy(Facts const& facts) {
    if (!facts.ptrace_scope || *facts.ptrace_scope == 0)
        return {fine("processes of one user may read each other's memory")};
    return {{Severity::note, text("kernel.yama.ptrace_scope = ", *facts.ptrace_scope),
             "the distribution's hardening: Open MPI cannot copy between ranks in one step",
             "sysctl kernel.yama.ptrace_scope=0, if large messages on a node matter"}};
}

constexpr std::array all_machine_checks{
    Check{"shared memory", "is /dev/shm there, large enough, writable", shared_memory},
    Check{"cores", "how many may be used, and is their time limited", cores},
    Check{"open files", "is the limit high enough for many ranks", open_files},
    Check{"locked memory", "may network cards register memory", locked_memory},
    Check{"core files", "would a crash leave one", core_files},
    Check{"clock source", "is reading the time fast", clock_source},
    Check{"single copy", "may ranks read each other's memory (CMA)", single_copy},
};

}  // namespace

std::span<Check const> machine_checks() { return all_machine_checks; }

}  // namespace sinew::launch
