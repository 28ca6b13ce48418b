// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <sinew/communicator.hpp>
#include <string>
#include <vector>

#include "src/pool/remote_node.hpp"
#include "src/pool/supervisor.hpp"
#include "src/process/runtime.hpp"

namespace sinew::pool {

/// A node of the communicator, and what all of its ranks together may use.
struct NodeShare {
    std::string host;
    cpu_set_t cpus;
    int cores = 1;
    int gpus = 0;  ///< that its first rank sees; the next is what that may have of memory
    std::uint64_t memory_mib = 0;  ///< 0: not known
    int supervisor = 0;            ///< its first rank
};

/// What ranks find out about each other, and how they come to be linked to rank 0. Collective: all
/// make the same calls in the same order; what fails on one of them throws on all.
class Meeting {
public:
    Meeting(process::Runtime& runtime, Communicator& communicator);
    Meeting(Meeting const&) = delete;
    ~Meeting();

    std::vector<NodeShare> const& nodes() const { return nodes_; }
    /// Rank 0: the others by rank, none for itself.
    std::vector<std::shared_ptr<RemoteNode>> receive();
    /// Other ranks: linked to rank 0.
    std::shared_ptr<Supervisor> go();

private:
    struct Reception;
    void share_cards();
    std::string open_reception();
    std::vector<std::string> listen();
    std::unique_ptr<wire::Link> dial(std::vector<std::string> const& words, std::string& problem);
    /// Throws where not all are well.
    void agree(std::string const& problem);
    std::string broadcast(std::string words);

    process::Runtime& runtime_;
    Communicator& communicator_;
    std::vector<NodeShare> nodes_;
    bool one_host_ = true;
    std::shared_ptr<Reception> reception_;
};

}  // namespace sinew::pool
