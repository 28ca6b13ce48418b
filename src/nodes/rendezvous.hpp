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
class Rendezvous {
public:
    /// `purpose`: "pool", for messages; `options`: of the links.
    Rendezvous(process::Runtime& runtime, Communicator& communicator, std::string purpose,
               wire::LinkOptions options);
    Rendezvous(Rendezvous const&) = delete;
    ~Rendezvous();

    std::vector<NodeShare> const& nodes() const { return nodes_; }
    /// Rank 0: `arrived` gets a link to each of the others, with the guard held, and listens to it from
    /// then on.
    using Arrived =
        std::function<void(std::size_t rank, std::unique_ptr<wire::Link>, std::string const& host)>;
    void receive(Arrived const& arrived);
    /// Other ranks: `linked` gets the link to rank 0 likewise, with the secret of that one's session and
    /// the processors of this node's ranks; `undo`, with the guard held, where it comes to nothing.
    using Linked = std::function<void(std::unique_ptr<wire::Link>, wire::Secret const& session,
                                      cpu_set_t const& cpus)>;
    void go(Linked const& linked, std::function<void()> const& undo);

private:
    struct Acceptor;
    void share_infos();
    std::string open_acceptor(Arrived const& arrived);
    std::vector<std::string> listen();
    std::unique_ptr<wire::Link> dial(std::vector<std::string> const& words, std::string& problem);
    /// Throws where not all are well.
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
