// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launchers/dashboard/state.hpp"
#include "src/lease/gpus/gpu_inventory.hpp"
#include "src/lease/lease_view.hpp"

namespace sinew::launch::service {

/// The GPUs of this host: who has them, and how much of their memory is in use.
class GpuWatch {
public:
    /// Finds the GPUs and the folder of the leases.
    explicit GpuWatch(std::string host);

    /// `holders`: the job that has a GPU, by its index. Others that are leased belong to `outside`.
    std::vector<dashboard::Gpu> look(std::map<int, std::string> const& holders,
                                     std::string const& outside) const;
    /// How many leases there are on this host. No value: that cannot be found out.
    std::optional<std::size_t> leases() const;
    /// Asks in another thread how much memory is in use, for a later look(): a driver that does not
    /// answer keeps nobody waiting. Without NVML it does nothing.
    void ask_memory();
    /// Why leases of other programs are not seen; empty: they are.
    std::string const& problem() const { return problem_; }

private:
    struct Memory;

    std::string const host_;
    lease::GpuInventory gpus_;
    std::optional<lease::LeaseView> leases_;
    std::string problem_;
    std::shared_ptr<Memory> memory_;  ///< null without NVML
};

}  // namespace sinew::launch::service
