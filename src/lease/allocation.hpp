// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "src/lease/host.hpp"
#include "src/lease/locks/lock_file.hpp"

namespace sinew::lease {

/// What the holder of the system lock locks for its request. Nobody else locks anything meanwhile;
/// others only release.
class Allocation {
public:
    Allocation(LockFile const& file, Host const& host, Needs const& needs);

    /// Locks everything if everything is free, and returns whether it was. Otherwise it keeps the
    /// free GPUs locked, all of which it will need, unless a better set becomes free. Throws
    /// SystemError, and Unavailable if others lease GPUs by UUID and this process by number, or the
    /// other way round.
    bool try_complete();

    /// Those it has; after try_complete() has returned true, those of the lease.
    std::vector<Gpu> gpus() const;
    std::vector<int> const& cpus() const { return cpus_; }
    /// "1 of 4 GPUs is free": what is lacking, for messages.
    std::string shortage() const;

private:
    void agree_on_names() const;
    std::vector<int> free_gpus() const;
    std::vector<int> free_cpus() const;
    bool lock_gpus(std::vector<int> const& indices);
    bool lock_cpus(std::vector<int> const& free);
    bool lock_all(std::vector<ByteRange> const& locks) const;
    Gpu const& gpu(int index) const;

    LockFile const& file_;
    Host const& host_;
    Needs const needs_;
    std::vector<int> gpus_;  ///< indices, rising
    std::vector<int> cpus_;
};

}  // namespace sinew::lease
