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

/// The servers that the programs of a job need.
struct MpiNeeds {
    bool pmix = false, pmi1 = false;
};

/// Connects the PMIx (Open MPI) and PMI-1 (MPICH) servers of this node's ranks to the job's fences,
/// modex and names. For the loop's thread; one per epoch.
class MpiService {
public:
    /// Functions that send messages toward the root.
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
        std::string folder;                ///< this epoch's
        std::string server_folder;         ///< shared by all epochs: libpmix is started once
    };

    /// The options of the PMIx server that the service starts if it needs one.
    static PmixServer::Options pmix_options(Launch const& launch, int node,
                                            std::string const& server_folder);
    /// Throws Unavailable if a needed server is not available here.
    MpiService(wire::Loop& loop, Launch const& launch, Here here, MpiNeeds needs, Outward outward);
    ~MpiService();

    /// The variables of one rank, before it is started; adds to `keep` the descriptors that it must
    /// inherit. Throws SystemError if there is no socket.
    std::vector<std::string> environment(int rank, std::vector<int>& keep);
    /// Closes this process's copy of the rank's end of its socket.
    void started(int rank);

    void fence_done(FenceKey const& key, FenceParts const& parts);
    void fence_failed(FenceKey const& key, std::string const& why);
    /// A rank of another node requests the data that a rank of this node has put.
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
    LoopGate gate_;  ///< for libpmix's thread, which may reply after the destruction of this object
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
