// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "src/base/system/unique_fd.hpp"

namespace sinew::process {

/// The cgroup below which this process can make cgroups that limit memory. None if it cannot, or
/// if they would escape its own limits.
///
/// Version 1: its own cgroup. Version 2: a cgroup with processes in it can have no limits below it,
/// except the host's root; then it is the parent cgroup, if that is delegated to us (writable, with
/// memory in its subtree_control) and ours has no limits that its siblings would escape.
std::optional<std::string> place_of_memory_groups(std::string const& root = "");

/// A cgroup for one child, which limits its memory and swap. Locked while this process lives, so
/// that the next sinew can tell what a SIGKILL has left.
class MemoryGroup {
public:
    /// Returns null if this process cannot make one.
    static std::unique_ptr<MemoryGroup> make(std::uint64_t bytes);
    MemoryGroup(MemoryGroup const&) = delete;
    ~MemoryGroup();

    std::string const& folder() const { return folder_; }
    /// Its cgroup.procs, open for writing.
    int entrance() const { return entrance_.get(); }
    /// How many processes the kernel has killed in it for lack of memory.
    std::uint64_t kills() const;
    /// Removes it. Returns false if there are still processes in it.
    bool remove();

private:
    explicit MemoryGroup(std::string folder);
    bool limit(std::uint64_t bytes);
    std::string folder_;
    UniqueFd lock_, entrance_;
    int const owner_;
};

/// Removes the groups at place_of_memory_groups() that are not locked and have no processes.
void remove_stale_memory_groups();

/// For tests. If false, make() returns null.
void allow_memory_groups(bool allowed);

}  // namespace sinew::process
