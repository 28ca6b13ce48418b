// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <sinew/communicator.hpp>

namespace sinew {

/// Options of run_thread_ranks.
struct ThreadRanksOptions {
    /// Number of ranks, at least 1.
    int ranks = 2;
    /// How many consecutive ranks count as sharing a node; 0: all.
    int ranks_per_node = 0;
};

/// Runs `body` once per rank, each in a separate thread, with a communicator of all ranks:
/// collectives inside one process, without a launcher.
///
/// Returns when every rank has returned. If a rank throws, the operations of the others end with
/// PeerLost, and the exception of the first rank that failed is rethrown here. Throws UsageError if
/// `options.ranks` is less than 1.
void run_thread_ranks(ThreadRanksOptions const& options,
                      std::function<void(Communicator&)> const& body);

inline void run_thread_ranks(int ranks, std::function<void(Communicator&)> const& body) {
    run_thread_ranks(ThreadRanksOptions{.ranks = ranks}, body);
}

}  // namespace sinew
