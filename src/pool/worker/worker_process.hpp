// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/pool/transfers.hpp"
#include "src/pool/worker/batch.hpp"
#include "src/pool/worker/executor.hpp"
#include "src/pool/worker/loop_leader.hpp"
#include "src/pool/worker/messages.hpp"
#include "src/pool/worker/watchdog.hpp"
#include "src/process/child/child_role.hpp"
#include "src/wire/adopt.hpp"

namespace sinew::pool {

/// A worker of a pool: receives tasks of its master, and executes them in the thread that calls
/// `run`.
class WorkerProcess {
public:
    WorkerProcess(process::ChildStart& start, WorkerStart told);
    WorkerProcess(WorkerProcess const&) = delete;
    ~WorkerProcess();
    /// Returns the exit code.
    int run();

private:
    // worker.cpp: the main thread
    std::string problem_at_start();
    std::string initialize();
    int refuse(std::string const& why);
    WorkerBatch* next_batch();
    void finish(WorkerBatch& batch);
    bool all_done();
    void close_links();
    /// Evaluates the condition with the guard held.
    void drive_until(std::function<bool()> const& condition);

    // From the main thread, too.
    void send(Report const& report);
    bool another_is_ready() const;
    std::uint64_t send_pieces(Bytes errors, Bytes results);
    bool send_file(ResultsHead const& head, Bytes errors, Bytes results);

    // From the thread that drives the loop, with the guard held.
    void adopt_links(process::ChildStart& start);
    void take(wire::Message const& message);
    void take_piece(wire::Message const& message);
    void ended(wire::LinkEnd const& end);
    void told(FunctionTold const& function);
    void told(TasksTold const& tasks);
    void told(RevokeTold const& revoke);
    void told(StopTaskTold const& stop);
    void told(ForgetTold const& forget);
    void told(ReleaseTold const& release);
    void told(FencedTold const& fenced);
    void told(MappedTold const& mapped);
    std::uint32_t give_back(WorkerBatch& batch);
    void drop(WorkerBatch const& batch);
    /// Ends the process: the master's messages are invalid.
    [[noreturn]] void give_up(std::string const& why);

    std::string const name_;
    WorkerStart const told_;
    process::StatusPage& page_;

    std::mutex guard_;
    wire::Loop loop_{guard_};
    LoopLeader loop_leader_{loop_};
    CurrentTask current_{page_};
    Executor executor_;

    // With the guard held:
    std::unique_ptr<wire::Link> control_, bulk_;
    std::unordered_map<std::uint64_t, std::shared_ptr<WorkerJob>> jobs_;
    std::deque<std::unique_ptr<WorkerBatch>> batches_;   ///< in the order of arrival
    std::vector<std::shared_ptr<WorkerJob>> forgotten_;  ///< to be destroyed by the main thread
    Transfers transfers_;
    std::string unusable_;  ///< why the master cannot use this worker; empty: it can
    std::uint64_t last_transfer_ = 0;
    std::optional<MappedHead>
        mapped_;  ///< the master's answer about the file that was offered last
    wire::Clock::time_point flushed_{};  ///< when results were sent last
    bool control_full_ = false, bulk_full_ = false;
    bool released_ = false;
    bool leaving_ = false;  ///< the end of a link is not a failure any more

    std::optional<Watchdog> watchdog_;
};

}  // namespace sinew::pool
