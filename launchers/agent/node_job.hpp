// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launchers/agent/local_rank.hpp"
#include "launchers/agent/rank_environment.hpp"
#include "launchers/agent/rank_listeners.hpp"
#include "launchers/agent/report_socket.hpp"
#include "launchers/common/loop_gate.hpp"
#include "launchers/pmi/mpi_service.hpp"
#include "launchers/tree/fence.hpp"
#include "launchers/tree/protocol.hpp"
#include "launchers/tree/router.hpp"
#include "src/base/gpus/gpu_claims.hpp"
#include "src/base/job_folder.hpp"
#include "src/base/system/oom.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// One epoch of a job on one node: starts its ranks, forwards their output, runs their MPI servers,
/// reports how they end, and ends them. For the loop's thread only.
class NodeJob {
public:
    struct Setting {
        int agent = 0;          ///< its number among the job's agents
        std::string interface;  ///< network interface; empty: the libraries choose
        GpuClaims& gpus;        ///< for the ranks; the agent's, which outlives this object
    };
    NodeJob(wire::Loop& loop, TreeRouter& tree, JobFolder const& folder, Setting setting,
            Launch launch);
    ~NodeJob();

    void start();
    void signal(int number);
    void stop(Stop const& how);
    void input(std::string_view bytes);
    void credit(std::int64_t bytes);
    void fence_done(FenceKey const& key, FenceParts const& parts);
    void fence_failed(FenceKey const& key, std::string const& why);
    MpiService* mpi() { return mpi_.get(); }
    /// The root has taken a report.
    void report_taken() {
        if (reports_) reports_->taken();
    }

    /// The process ids of the ranks.
    std::vector<pid_t> pids() const;
    /// Whether output may still come, or has been sent and not yet been written by the root.
    bool has_output() const;
    /// Reads what is left in the pipes. Requires: all ranks and their descendants have been reaped.
    void wind_up();

private:
    struct Program {
        std::string path;
        int error = 0;
        std::string why;
        Variables variables;  ///< common to all its ranks
    };
    struct Search;
    // The steps of `start`. Each starts the next one, some by way of another thread.
    void take_gpus();
    void find_programs();
    void on_programs(Search& search);
    void take_reports();
    void serve_mpi(MpiNeeds needs);
    void start_if_ready();

    /// Runs `step`; an exception is reported in place of the ranks' start.
    void attempt(std::function<void()> const& step);
    void bind_ranks();
    void exchange_addresses();
    void write_world(FenceParts const& parts);
    void start_ranks();
    SpawnRequest request_for(int rank);
    Variables common_variables(App const& app) const;
    Variables environment_for(int rank, std::vector<int>& keep);
    void report_started(std::vector<StartedRank> const& report);
    bool start_rank(int rank, std::vector<StartedRank>& report);
    void on_output(int rank, int stream, LineAssembler::Piece piece);
    void on_ended(int rank, LocalRank::End const& end);
    void on_consumed(int rank, std::size_t bytes);
    std::string guard(Exited const& exited) const;
    void set_reading();
    void kill_now();

    wire::Loop& loop_;
    TreeRouter& tree_;
    JobFolder const& folder_;
    Setting setting_;
    Launch launch_;
    int node_ = -1;  ///< this node's index in the map; -1: no ranks here
    std::vector<int> mine_;
    std::vector<std::string> cpusets_;
    std::map<int, Program> programs_;  ///< by app
    std::string epoch_folder_, world_file_;
    std::optional<ReportSocket> reports_;   ///< if there is a dashboard
    std::vector<RankListeners> listeners_;  ///< by local rank
    std::unique_ptr<MpiService> mpi_;       ///< null until the servers are started
    std::optional<FenceParts> addresses_;   ///< of all ranks; none until exchanged
    LoopGate gate_;                         ///< for the threads that prepare the start
    std::vector<std::unique_ptr<LocalRank>> ranks_;
    std::int64_t under_way_ = 0;  ///< bytes of output sent and not yet written by the root
    bool crowded_ = false;        ///< more ranks than cores
    bool reading_ = true, stopping_ = false, reported_ = false;
    std::uint64_t oom_kills_ = oom_kills();    ///< count before this job
    std::map<int, std::int64_t> input_taken_;  ///< bytes of standard input, by rank
    std::int64_t input_credited_ = 0;
    std::vector<std::string> early_input_;  ///< input that arrived before the ranks started
    wire::Loop::Handle kill_timer_, term_timer_;
};

}  // namespace sinew::launch
