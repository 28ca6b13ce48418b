// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <sinew/communicator.hpp>
#include <string>
#include <vector>

#include "src/process/runtime.hpp"
#include "src/wire/link.hpp"

namespace sinew::nodes {

/// A node of the communicator, and the resources of all its ranks together.
struct NodeShare {
    std::string host;
    cpu_set_t cpus;
    int cores = 1;
    int gpus = 0;                  ///< that its first rank sees
    std::uint64_t memory_mib = 0;  ///< that its first rank may use; 0: not known
    int supervisor = 0;            ///< its first rank
};

/// Connects the ranks of a communicator to rank 0, and exchanges what they have. Collective: all
/// ranks make the same calls in the same order, and a failure on one is thrown on all.
class Rendezvous {
public:
    /// `purpose`: for messages, such as "pool"; `options`: of the links.
    Rendezvous(process::Runtime& runtime, Communicator& communicator, std::string purpose,
               wire::LinkOptions options);
    Rendezvous(Rendezvous const&) = delete;
    ~Rendezvous();

    std::vector<NodeShare> const& nodes() const { return nodes_; }
    /// On rank 0: calls `arrived` with a link to each other rank, with the guard held. `arrived`
    /// must install the link's callbacks.
    using Arrived =
        std::function<void(std::size_t rank, std::unique_ptr<wire::Link>, std::string const& host)>;
    void receive(Arrived const& arrived);
    /// On other ranks: calls `linked` with the link to rank 0, the secret of its session and the
    /// processors of this node's ranks. Calls `undo`, with the guard held, if the connection comes
    /// to nothing.
    using Linked = std::function<void(std::unique_ptr<wire::Link>, wire::Secret const& session,
                                      cpu_set_t const& cpus)>;
    void go(Linked const& linked, std::function<void()> const& undo);

private:
    struct Acceptor;
    void share_infos();
    std::string open_acceptor(Arrived const& arrived);
    std::vector<std::string> listen();
    std::unique_ptr<wire::Link> dial(std::vector<std::string> const& words, std::string& problem);
    /// Throws unless all ranks are well.
    void agree(std::string const& problem);
    std::string broadcast(std::string words);

    process::Runtime& runtime_;
    Communicator& communicator_;
    std::string const purpose_;
    wire::LinkOptions const options_;
    std::vector<NodeShare> nodes_;
    bool one_host_ = true;
    std::shared_ptr<Acceptor> acceptor_;
};

}  // namespace sinew::nodes
