// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <sinew/meta.hpp>
#include <string>
#include <vector>

#include "src/base/gpus/gpu_claims.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/process/resources/memory_group.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::process {

/// Throws UsageError, with the numbers, if this host can never serve `children` children with such
/// a wish at a time. Cores and memory may be shared, but each child must find enough for itself;
/// GPUs may not be shared. `among`: the processors that children may use, if those are not this
/// process's.
void require_possible(Meta const& wish, std::string const& who, int children = 1,
                      std::optional<cpu_set_t> const& among = {});
/// Returns how many children with such a wish can run on so many cores without sharing resources;
/// at least 1.
int room_for(Meta const& wish, int cores);

/// The resources of one child, from before its start to its end. Requires: runtime's guard held.
/// All children of this process have one: see ChildSpec::meta.
class ResourceReservation {
public:
    /// Throws UsageError (see require_possible), and Unavailable if too few GPUs are free now.
    ResourceReservation(Meta const& wish, std::string const& who,
                        std::optional<cpu_set_t> const& among);
    ResourceReservation(ResourceReservation const&) = delete;
    ~ResourceReservation();

    /// The processors to bind the child to.
    std::optional<cpu_set_t> const& cpus() const { return cpus_; }
    /// "NAME=value" for its environment.
    std::vector<std::string> env() const;
    /// cgroup.procs of the cgroup to start it in; -1: none.
    int group() const { return group_ ? group_->entrance() : -1; }

    /// The child could not be started in the cgroup.
    void do_without_group() { group_ = nullptr; }
    /// The child runs. If no cgroup limits its memory, calls `kill` when it has more.
    void begin(wire::Loop& loop, pid_t pid, std::function<void()> kill);
    /// For a child that SIGKILL has ended: the reason, with the numbers, if that was its memory;
    /// otherwise empty. `ours`: this process had sent that signal.
    std::string why_killed(bool ours) const;
    /// Frees the resources after the child's end.
    void release();

private:
    explicit ResourceReservation(Meta const& wish) : wish_(wish) {}
    void take_cpus(std::optional<cpu_set_t> const& among);
    void take_gpus(std::string const& who);
    void look(std::function<void()> const& kill);

    Meta const wish_;
    std::optional<cpu_set_t> cpus_;
    std::vector<int> numbers_;
    GpuClaims gpus_;
    std::vector<std::string> gpu_variables_;
    std::unique_ptr<MemoryGroup> group_;
    UniqueFd statm_;
    wire::Loop::Handle watch_;
    std::uint64_t had_ = 0;  ///< resident bytes when that was too much
};

/// At the end of the program: removes cgroups that could not be removed at once. Requires: guard
/// held.
void remove_left_memory_groups();

}  // namespace sinew::process
