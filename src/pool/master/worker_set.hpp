// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <sinew/pool/options.hpp>
#include <span>
#include <unordered_map>

#include "src/pool/master/event_log.hpp"
#include "src/pool/master/worker_record.hpp"
#include "src/process/runtime.hpp"

namespace sinew::pool {

/// The workers of a pool: starts them, and reports their messages and their ends as events for the
/// scheduler. A worker that violates the protocol is killed. Requires: guard held.
class WorkerSet {
public:
    using Jobs = std::unordered_map<JobId, JobRecord>;
    struct Callbacks {
        /// `arrived`: what an event Results brings; null for other events.
        std::function<void(Event const& event, ArrivedResults* arrived)> event;
        std::function<void()> changed;  ///< a worker is ready, or has ended
    };
    WorkerSet(process::Runtime& runtime, PoolOptions const& options, WorkerPlacement& placement,
              Scheduler const& scheduler, Jobs const& jobs, EventLog& events, Callbacks callbacks);

    WorkerSet(WorkerSet const&) = delete;

    /// Starts a worker on the loop's thread, if `owner`, which has this set, still exists. `later`:
    /// after a short pause, since an idle worker has just got work.
    void start(WorkerId id, Meta const& meta, bool later, std::weak_ptr<void const> owner);
    /// Null if that life of the worker has ended.
    WorkerRecord* find(WorkerId id);
    bool empty() const { return workers_.empty(); }
    /// Time that workers have spent in tasks.
    Duration busy() const { return busy_; }

private:
    static std::uint64_t key_of(WorkerId id) { return std::uint64_t{id.epoch} << 32 | id.slot; }
    void start(WorkerId id, Meta const& meta);
    void none_yet(WorkerId id);
    void on_message(WorkerId id, Kind kind, std::span<std::byte const> body);
    void on_ready(WorkerRecord& worker);
    void on_results(WorkerRecord& worker, std::span<std::byte const> body);
    void on_revoked(WorkerRecord& worker, std::span<std::byte const> body);
    void on_liveness(WorkerId id, bool suspect);
    void on_ended(WorkerId id, WorkerEnd const& end);

    process::Runtime& runtime_;
    PoolOptions const& options_;
    WorkerPlacement& placement_;
    Scheduler const& scheduler_;
    Jobs const& jobs_;
    EventLog& events_;
    Callbacks const callbacks_;
    std::unordered_map<std::uint64_t, std::unique_ptr<WorkerRecord>> workers_;  ///< by key_of
    Duration busy_{};
};

}  // namespace sinew::pool
