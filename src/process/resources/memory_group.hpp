// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "src/base/system/unique_fd.hpp"

namespace sinew::process {

/// The cgroup below which this process may make some that limit memory. None: it may not; or they
/// would be beyond limits of its own.
///
/// Of version 1, its own. Of version 2 a cgroup with processes in it has no limits below it, the host's
/// own excepted: then it is the one above, if that was delegated to us (it is ours to write, and has
/// memory among what it hands on) and ours has no limits that its children would escape.
std::optional<std::string> place_of_memory_groups(std::string const& root = "");

/// A cgroup for one child: what is in there cannot have more memory than that, nor swap. Locked as
/// long as this process lives, so that the next one can tell what was left by a SIGKILL.
class MemoryGroup {
public:
    /// Null: this process can make none.
    static std::unique_ptr<MemoryGroup> make(std::uint64_t bytes);
    MemoryGroup(MemoryGroup const&) = delete;
    ~MemoryGroup();

    std::string const& folder() const { return folder_; }
    /// Its cgroup.procs, open for writing.
    int entrance() const { return entrance_.get(); }
    /// How many processes the kernel has killed in it for want of memory.
    std::uint64_t kills() const;
    /// False: there are still processes in it.
    bool remove();

private:
    explicit MemoryGroup(std::string folder);
    bool limit(std::uint64_t bytes);
    std::string folder_;
    UniqueFd lock_, entrance_;
    int const owner_;
};

/// Those below this process's cgroup that nobody holds and that nobody is in.
void remove_stale_memory_groups();

/// False, for tests: as if none could be made.
void allow_memory_groups(bool allowed);

}  // namespace sinew::process
