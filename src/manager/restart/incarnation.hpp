// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <sinew/manager/persistence.hpp>
#include <sinew/task/encoding.hpp>

#include "src/process/rpc/process_address.hpp"

namespace sinew::manager {

/// Identifies a process of a manager that can be restarted, and its supervisor. Handles contain it,
/// so that they can find the next process.
struct Incarnation {
    process::ProcessAddress supervisor;
    std::uint64_t lineage = 0;  ///< number among its supervisor's managers
    std::uint32_t number = 0, most_restarts = 0;
    Checkpoints checkpoints = {};
    /// Proves the messages between supervisor and process; not in handles.
    std::uint64_t key = 0;

    /// There will be no other process.
    bool is_last() const { return number >= most_restarts; }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(supervisor, lineage, number, most_restarts, checkpoints);
    }
};

}  // namespace sinew::manager
