// SPDX-License-Identifier: Apache-2.0
#include "launchers/command_line/hosts/allocation.hpp"

#include <sinew/error.hpp>

#include "launchers/command_line/hosts/hostlist.hpp"
#include "launchers/command_line/parse.hpp"
#include "launchers/command_line/values.hpp"
#include "launchers/program/program_kind.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

class Reader {
public:
    explicit Reader(ProcessContext const& around) : around_(around) {}

    /// Returns nothing if the variable is unset or empty.
    std::optional<std::string> variable(std::string const& name) const {
        auto const found = around_.variables.find(name);
        if (found == around_.variables.end() || found->second.empty()) return std::nullopt;
        return found->second;
    }

    std::optional<Allocation> slurm() const {
        std::string const origin = "SLURM_JOB_NODELIST";
        auto const list = variable(origin);
        if (!list) return std::nullopt;
        Allocation found{
            .source = source("Slurm", "SLURM_JOB_ID", origin), .hosts = {}, .of_slurm = true};
        auto const hosts = parse_slurm_hostlist(*list, origin);
        std::vector<int> slots;
        // Use tasks if the user asked for tasks, otherwise processors.
        for (std::string const name : {"SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"}) {
            auto const counts = variable(name);
            // In a step, the tasks are those of the step, and the hosts those of the job.
            bool const of_step =
                name == "SLURM_TASKS_PER_NODE" && variable("SLURM_STEP_TASKS_PER_NODE");
            if (!counts || of_step) continue;
            slots = parse_slurm_counts(*counts, name);
            if (slots.size() != hosts.size())
                throw UsageError(text(name, "=", *counts, " is for ", slots.size(), " hosts (",
                                      origin, "=", *list, " names ", hosts.size(),
                                      "). Name hosts by -H, or say --backend local"));
            break;
        }
        for (std::size_t i = 0; i < hosts.size(); ++i)
            found.hosts.push_back({hosts[i], slots.empty() ? 0 : slots[i], 0});
        auto const path = variable("PATH").value_or("");
        found.by_srun = find_program("srun", "", path).error == 0;
        return found;
    }

    std::optional<Allocation> pbs() const {
        auto const file = variable("PBS_NODEFILE");
        if (!file) return std::nullopt;
        auto const origin = text("PBS_NODEFILE=", *file);
        return Allocation{source("PBS", "PBS_JOBID", "PBS_NODEFILE"),
                          parse_host_per_slot(read_text(*file, "PBS_NODEFILE"), origin)};
    }

    std::optional<Allocation> lsf() const {
        if (auto const list = variable("LSB_MCPU_HOSTS"))
            return Allocation{source("LSF", "LSB_JOBID", "LSB_MCPU_HOSTS"),
                              parse_mcpu_hosts(*list, "LSB_MCPU_HOSTS")};
        if (auto const list = variable("LSB_HOSTS"))
            return Allocation{source("LSF", "LSB_JOBID", "LSB_HOSTS"),
                              parse_host_per_slot(*list, "LSB_HOSTS")};
        return std::nullopt;
    }

    std::optional<Allocation> grid_engine() const {
        auto const file = variable("PE_HOSTFILE");
        if (!file) return std::nullopt;
        auto const origin = text("PE_HOSTFILE=", *file);
        return Allocation{source("Grid Engine", "JOB_ID", "PE_HOSTFILE"),
                          parse_pe_hostfile(read_text(*file, "PE_HOSTFILE"), origin)};
    }

private:
    std::string source(char const* system, char const* id, std::string const& origin) const {
        auto const job = variable(id);
        return text(system, job ? " job " + *job : std::string(), " (", origin, ")");
    }

    ProcessContext const& around_;
};

}  // namespace

std::optional<Allocation> find_allocation(ProcessContext const& around) {
    Reader const reader(around);
    if (reader.variable("SINEW_RANK")) return std::nullopt;
    for (auto const find : {&Reader::slurm, &Reader::pbs, &Reader::lsf, &Reader::grid_engine})
        if (auto found = (reader.*find)()) return found;
    return std::nullopt;
}

}  // namespace sinew::launch
