// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sinew::launch {

/// What a PMIx server must know of one job on one node. Plain data: no PMIx types.
struct PmixJob {
    std::string name;                ///< namespace; unique per job and epoch
    std::vector<std::string> nodes;  ///< unique names, by node index
    std::vector<int> node_of_rank;
    std::vector<int> app_of_rank;
    std::vector<std::vector<std::string>> argv_of_app;
    std::vector<std::string> folder_of_app;
    int node = 0;                                   ///< this one
    std::vector<std::string> cpuset_of_local_rank;  ///< "0-3,8" or empty: unbound
    std::string folder;  ///< the job's folder on this node; session dirs below it
    int universe = 0;    ///< slots of the allocation
    bool oversubscribed = false;
    int restart = 0;  ///< how often it was started before
};

/// Serves the PMIx clients (Open MPI ranks) of one node, by libpmix, loaded at run time.
///
/// One in a process at a time; a job after the other may use it. The library itself lives as long as
/// the process and cannot be started twice: a later server must be for the same node and folder.
///
/// Calls of the user's come from one thread. Upcalls come from libpmix's own thread: hand them over
/// and return. Replies may be given from any thread, once each.
class PmixServer {
public:
    using Blob = std::vector<std::byte>;
    /// status 0 is success, else the reason is logged and the clients get an error.
    using Reply = std::function<void(bool ok, Blob const& data)>;
    struct Upcalls {
        /// All local members of the group are in the fence. `ranks` empty: the whole job.
        std::function<void(std::vector<int> ranks, Blob data, Reply reply)> fence;
        /// A local rank needs what the remote `rank` has put.
        std::function<void(int rank, Reply reply)> modex;
        std::function<void(int rank, int status, std::string message)> abort;
        std::function<void(int rank)> connected;
        std::function<void(int rank)> finalized;
        std::function<void(std::string key, Blob value, Reply reply)> publish;
        std::function<void(std::string key, Reply reply)> lookup;
        std::function<void(std::string key, Reply reply)> unpublish;
    };
    struct Options {
        std::string node_name;  ///< as in PmixJob::nodes: the library must not guess
        std::string folder;     ///< for its shared-memory store; has to outlive all jobs
        /// How clients show who they are: a name of libpmix's, as PMIX_MCA_psec has it. Empty: as this
        /// process's PMIX_MCA_psec says, else native. That of the first server holds for all.
        std::string security = {};
    };

    /// Sets the variables of this process that libpmix reads: before `prepare` and `start`, which do it
    /// otherwise themselves, while no other thread uses the environment. Once: later calls do nothing.
    static void prepare_environment(Options const& options);
    /// Loads and starts the library, which may take seconds: for a thread of its own, before `start` with
    /// the same options, which is quick then. Throws as `start`.
    static void prepare(Options const& options);
    /// Throws Unavailable when there is no usable libpmix, with the reason and the package's name.
    static std::unique_ptr<PmixServer> start(Options const& options, Upcalls upcalls);
    /// Whether libpmix can be loaded, and its version, or why not.
    static std::string describe(bool& usable);
    /// Ends libpmix's threads and removes its files, where a process goes on for long without
    /// needing it again. Not needed before the process ends. After a rank has vanished it only
    /// removes the files: the library could not be trusted to end.
    static void end_library();

    virtual ~PmixServer() = default;
    virtual void register_job(PmixJob const& job) = 0;
    /// PMIX_* variables for one local rank: "NAME=value".
    virtual std::vector<std::string> environment(int rank) = 0;
    /// Asks a local rank's data for a remote one.
    virtual void modex_request(int rank, Reply reply) = 0;
    /// Its ranks have ended. Where one of them did without finalizing, libpmix keeps what it knows.
    virtual void deregister_job() = 0;
};

}  // namespace sinew::launch
