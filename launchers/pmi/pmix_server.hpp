// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sinew::launch {

/// Describes one job to the PMIx server of one node. Plain data without PMIx types.
struct PmixJob {
    std::string name;                ///< namespace; unique per job and epoch
    std::vector<std::string> nodes;  ///< unique names, by node index
    std::vector<int> node_of_rank;
    std::vector<int> app_of_rank;
    std::vector<std::vector<std::string>> argv_of_app;
    std::vector<std::string> folder_of_app;
    int node = 0;                                   ///< index of this node
    std::vector<std::string> cpuset_of_local_rank;  ///< "0-3,8" or empty: unbound
    std::string folder;  ///< the job's folder on this node, with the session folders
    int universe = 0;    ///< slots of the allocation
    bool oversubscribed = false;
    int restart = 0;  ///< how often the job was restarted
};

/// Serves the PMIx clients (Open MPI ranks) of one node with libpmix, loaded at run time.
///
/// At most one exists per process at a time; it may serve one job after another. The library itself
/// cannot be started twice in a process: a later server must have the same node and folder.
///
/// All calls must come from one thread. Upcalls run on libpmix's own thread, and must only hand
/// over the work and return. Replies may be given from any thread, once each.
class PmixServer {
public:
    using Blob = std::vector<std::byte>;
    /// Answers the clients with `data`, or with an error if `ok` is false.
    using Reply = std::function<void(bool ok, Blob const& data)>;
    struct Upcalls {
        /// All local members of the group are in the fence. Empty `ranks` mean the whole job.
        std::function<void(std::vector<int> ranks, Blob data, Reply reply)> fence;
        /// A local rank needs the data that the remote `rank` has put.
        std::function<void(int rank, Reply reply)> modex;
        std::function<void(int rank, int status, std::string message)> abort;
        std::function<void(int rank)> connected;
        std::function<void(int rank)> finalized;
        std::function<void(std::string key, Blob value, Reply reply)> publish;
        std::function<void(std::string key, Reply reply)> lookup;
        std::function<void(std::string key, Reply reply)> unpublish;
    };
    struct Options {
        std::string node_name;  ///< this node's name in PmixJob::nodes
        std::string folder;     ///< for its shared-memory store; must outlive all jobs
        /// How clients authenticate: a component of libpmix, as in PMIX_MCA_psec. Empty: as this
        /// process's PMIX_MCA_psec, else native. The first server's setting holds for all.
        std::string security = {};
    };

    /// Sets the variables of this process that libpmix reads. Requires: no other thread uses the
    /// environment. If not called, `prepare` and `start` do it. Only the first call has an effect.
    static void prepare_environment(Options const& options);
    /// Loads and starts the library, which may take seconds: for a thread other than the loop's,
    /// before `start` with the same options, which is quick then. Throws as `start` does.
    static void prepare(Options const& options);
    /// Throws Unavailable with the reason and the package's name if there is no usable libpmix.
    static std::unique_ptr<PmixServer> start(Options const& options, Upcalls upcalls);
    /// Returns libpmix's version, or why it cannot be loaded; sets `usable`.
    static std::string describe(bool& usable);
    /// Ends libpmix's threads and removes its files, for a process that runs for long without
    /// needing it again. Not needed before the process ends. If a rank has vanished, only removes
    /// the files, since ending the library could hang.
    static void end_library();

    virtual ~PmixServer() = default;
    virtual void register_job(PmixJob const& job) = 0;
    /// The PMIX_* variables of one local rank: "NAME=value".
    virtual std::vector<std::string> environment(int rank) = 0;
    /// Requests a local rank's data on behalf of a remote rank.
    virtual void modex_request(int rank, Reply reply) = 0;
    /// Requires: the job's ranks have ended. If one did not finalize, libpmix keeps the job's data.
    virtual void deregister_job() = 0;
};

}  // namespace sinew::launch
