// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <sinew/communicator.hpp>
#include <string>
#include <vector>

#include "src/nodes/node_share.hpp"
#include "src/process/runtime.hpp"
#include "src/wire/link.hpp"

namespace sinew::nodes {

/// Connects the ranks of a communicator to rank 0, and exchanges what they have. Collective: all
/// ranks make the same calls in the same order, and a failure on one is thrown on all.
class Rendezvous {
public:
    /// `options`: of the links.
    Rendezvous(process::Runtime& runtime, Communicator& communicator, wire::LinkOptions options);
    Rendezvous(Rendezvous const&) = delete;
    ~Rendezvous();

    std::vector<NodeShare> const& nodes() const { return nodes_; }
    /// On rank 0: calls `arrived` with a link to each other rank, with the guard held. `arrived`
    /// must install the link's callbacks.
    using Arrived =
        std::function<void(std::size_t rank, std::unique_ptr<wire::Link>, std::string const& host)>;
    void receive(Arrived const& arrived);
    /// On other ranks: calls `linked` with the link to rank 0, the secret of its session and the
    /// processors of this node's ranks. Calls `undo`, with the guard held, if a rank fails
    /// to connect.
    using Linked = std::function<void(std::unique_ptr<wire::Link>, wire::Secret const& session,
                                      cpu_set_t const& cpus)>;
    void go(Linked const& linked, std::function<void()> const& undo);

private:
    struct Acceptor;
    void share_infos();
    std::string open_acceptor(Arrived const& arrived);
    std::vector<std::string> listen();
    std::unique_ptr<wire::Link> dial(std::vector<std::string> const& words, std::string& problem);
    /// Throws on all ranks if one of them has a problem.
    void agree(std::string const& problem);
    std::string broadcast(std::string words);

    process::Runtime& runtime_;
    Communicator& communicator_;
    wire::LinkOptions const options_;
    std::vector<NodeShare> nodes_;
    bool one_host_ = true;
    std::shared_ptr<Acceptor> acceptor_;
};

}  // namespace sinew::nodes
