// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "launchers/common/loop_gate.hpp"
#include "launchers/pmi/pmi1.hpp"
#include "launchers/pmi/pmix_server.hpp"
#include "launchers/tree/fence.hpp"
#include "launchers/tree/protocol.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// Which servers the programs of a job need.
struct MpiNeeds {
    bool pmix = false, pmi1 = false;
};

/// What this node's ranks are told by PMIx (Open MPI) and PMI-1 (MPICH): between these servers and
/// the job's fences, modex and names. On the loop's thread; one per epoch.
class MpiService {
public:
    /// The way out, towards the root.
    struct Outward {
        std::function<void(FenceKey const&, Bytes)> fence;
        std::function<void(ModexHead const&, Bytes const&)> modex;
        std::function<void(ModexHead const&, Bytes const&)> modex_reply;
        std::function<void(Aborted const&)> abort;
        std::function<void(NameRequest const&)> name;
    };
    /// This node's part of the job.
    struct Here {
        int node = 0;  ///< index in the map
        std::vector<int> ranks;
        std::vector<std::string> cpusets;  ///< by local rank
        std::string folder;                ///< of this epoch
        std::string server_folder;         ///< of all epochs: libpmix is started once
    };

    /// Of the PMIx server that the service starts when it needs one.
    static PmixServer::Options pmix_options(Launch const& launch, int node,
                                            std::string const& server_folder);
    /// Throws Unavailable when a server is needed that cannot be had here.
    MpiService(wire::Loop& loop, Launch const& launch, Here here, MpiNeeds needs, Outward outward);
    ~MpiService();

    /// Variables of one rank, before it is started; `keep` are descriptors it has to inherit.
    std::vector<std::string> environment(int rank, std::vector<int>& keep);
    /// The rank's end of its sockets can be closed here.
    void started(int rank);

    void fence_done(FenceKey const& key, FenceParts const& parts);
    void fence_failed(FenceKey const& key, std::string const& why);
    /// Somebody elsewhere asks for what a rank of ours has put.
    void modex_wanted(ModexHead const& head);
    void modex_arrived(ModexHead const& head, std::span<std::byte const> bytes);
    void name_arrived(NameReply const& reply);

    bool joined(int rank) const { return joined_.contains(rank); }
    bool left(int rank) const { return left_.contains(rank); }
    bool anyone_joined() const { return !joined_.empty(); }
    bool serves() const { return pmix_ || pmi1_; }
    bool serves_both() const { return pmix_ && pmi1_; }

private:
    struct Pmi1Socket {
        UniqueFd ours, theirs;
        wire::Loop::Handle watch;
    };
    void start_pmix();
    void start_pmi1();
    Pmi1Server::Hooks pmi1_hooks();
    PmixServer::Upcalls upcalls();
    void pmix_fence(std::vector<int> const& ranks, Bytes data, PmixServer::Reply reply);
    FenceKey next_key(FenceKey::Kind kind, std::vector<int> const& ranks);
    void pmi1_readable(int local_rank);
    void ask_name(std::string verb, std::string key, Bytes const& value, PmixServer::Reply reply);

    wire::Loop& loop_;
    Launch const& launch_;
    Here here_;
    Outward outward_;
    LoopGate gate_;  ///< for libpmix's thread, which may answer when this is gone
    std::set<int> joined_, left_;
    std::map<std::pair<FenceKey::Kind, std::uint64_t>, std::uint64_t> sequences_;
    std::map<FenceKey, PmixServer::Reply> fences_;
    std::map<std::uint64_t, PmixServer::Reply> modexes_, names_;
    std::uint64_t requests_ = 0;
    std::unique_ptr<PmixServer> pmix_;
    std::unique_ptr<Pmi1Server> pmi1_;
    std::vector<Pmi1Socket> pmi1_sockets_;  ///< by local rank
};

}  // namespace sinew::launch
