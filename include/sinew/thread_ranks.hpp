// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <sinew/communicator.hpp>

namespace sinew {

struct ThreadRanksOptions {
    int ranks = 2;
    /// Ranks that count as sharing a node; 0: all of them.
    int ranks_per_node = 0;
};

/// Runs `body` once per rank, each in a thread of its own, with a communicator over all of them:
/// collectives inside one process, without a launcher.
///
/// Returns when every rank has returned. A rank that ends by an exception is lost to the others,
/// whose operations end with PeerLost; the exception of the first rank to fail is rethrown here.
void run_thread_ranks(ThreadRanksOptions const& options,
                      std::function<void(Communicator&)> const& body);

inline void run_thread_ranks(int ranks, std::function<void(Communicator&)> const& body) {
    run_thread_ranks(ThreadRanksOptions{.ranks = ranks}, body);
}

}  // namespace sinew
