// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/pool/scheduler/bucket_queue.hpp"
#include "src/pool/scheduler/job.hpp"
#include "src/pool/scheduler/scheduler.hpp"
#include "src/pool/scheduler/worker.hpp"

namespace sinew::pool {

/// Ordinary events do not look at all workers or all jobs, so that an event costs the same in a
/// pool of ten and of a thousand.
struct Scheduler::State {
    explicit State(SchedulerSettings const& given);
    void step(Event const& event, Time time, std::vector<Action>& actions);

    // jobs.cpp
    void on(JobSubmitted const& e);
    void on(JobGrows const& e);
    void on(JobCancelled const& e);
    void limit(Job& job, std::uint64_t from);
    void drop(Job& job, TaskRange range);
    void fail(Job& job, Fail failure);
    void ended(Job& job, std::uint64_t count);
    void end_if_over(Job& job);
    void give_back(Job& job, TaskRange range);
    void wait_again(Job& job, std::uint64_t index);
    void drop_everything();
    void cancel_overdue(JobId id);
    void retry_due(JobId id, std::uint64_t index);

    // dispatch.cpp
    void dispatch();
    bool dispatch_one();
    bool send_alone(Worker& worker);
    void send_ranges(Worker& worker, Job& job);
    Batch& send(Worker& worker, Job& job, TaskRange range, std::uint32_t attempt);
    std::uint64_t batch_size(Job const& job) const;
    void steal();
    double work_per_batch(double each) const;
    std::size_t credit(Worker const& worker) const;
    void revoke(Batch& batch);
    void release(Batch& batch);
    void file_by_load(Worker& worker);

    // results.cpp
    void on(Results const& e);
    void on(Revoked const& e);
    void take(Worker& worker, Batch& batch, Results const& e);
    void thrown(Job& job, std::uint64_t index, Thrown const& one);
    void learn(Function& function, Duration busy, std::uint32_t tasks);
    void cut(Worker& worker, Batch& batch, std::uint32_t kept);
    void protocol_error(Worker& worker, std::string const& why);

    // death.cpp
    void on(WorkerDied const& e);
    void lose(Batch& batch, WorkerDied const& e);
    void lose_begun(Job& job, TaskRange range, bool alone, WorkerDied const& e);
    void suspect_all(Job& job, TaskRange range, std::string const& why);
    void blame(Job& job, std::uint64_t index, WorkerDied const& e);
    void count_failure(Job& job, std::uint64_t index, WorkerDied const& e);
    void again(Job& job, std::uint64_t index, std::string const& why);
    void free(Job& job, TaskRange range, bool alone);
    static Record* record_of(Job& job, std::uint64_t index);
    static std::uint32_t attempts(Job& job, std::uint64_t index);

    // workers.cpp
    void on(WorkerReady const& e);
    void on(StartFailed const& e);
    void on(WorkerSuspect const& e);
    void on(WorkerAlive const& e);
    void start_worker();
    void start_overdue(Worker& worker);
    void start_failed(std::string const& why);
    void vacate(Worker& worker);
    void drain(Worker& worker);
    void idle(Worker& worker);
    void kill(Worker& worker, std::string const& why);
    void break_pool(std::string const& why);

    // scaling.cpp
    void on(Begin const& e);
    void on(WorkerRecycled const& e);
    void on(Resize const& e);
    void on(Close const& e);
    void on(Terminate const& e);
    void on(Tick const&) {}
    std::uint32_t target() const;
    void scale();
    void replace_recycled();
    void idle_overdue(Worker& worker);
    void end_if_empty();

    // scheduler.cpp
    Time after(Duration pause) const;  ///< from now; Time::max() if that is too far
    void expire();
    void expire(Timer const& timer);
    Worker* find(WorkerId id);     ///< null if that life of it has ended, or never was
    Worker* speaker(WorkerId id);  ///< the same; if null, it has been answered by Fenced
    Batch* batch_of(Worker& worker, BatchId id);
    Job* job(JobId id);
    template <class A>
    void emit(A action) {
        out->emplace_back(std::move(action));
    }
    /// All changes of a worker are made here, so that the sums are right.
    template <class F>
    void change(Worker& worker, F how) {
        sum(worker, -1);
        how();
        sum(worker, 1);
        file_by_load(worker);
    }
    void sum(Worker const& worker, int sign);
    void check() const;

    SchedulerSettings settings;
    SchedulerStats stats;
    Time now{};
    std::vector<Action>* out = nullptr;
    std::unordered_map<JobId, Job> jobs;
    std::unordered_map<std::uint64_t, Function> functions;
    JobQueue queue;  ///< jobs with ranges to be sent
    std::deque<std::pair<JobId, std::uint64_t>>
        exclusive_tasks;             ///< waiting records, sent before the queue
    double work_ns = 0;              ///< of all tasks that have not ended and whose time is known
    std::uint64_t unknown_work = 0;  ///< the other tasks that have not ended
    BatchPool batches;
    BatchId next_batch = 1;

    std::vector<Worker> workers;
    LowestFirst<std::uint32_t> vacant;
    BucketQueue available;          ///< workers that can take a batch, by number of batches
    BucketQueue steal_candidates;   ///< by log2 of the time of what they could give back
    std::deque<WorkerId> recycled;  ///< to be replaced, one at a time
    std::uint32_t next_epoch = 1;
    std::uint32_t counted = 0, usable = 0, draining = 0;  ///< numbers of workers: see Worker
    std::uint64_t steals = 0;  ///< revokes without an answer of workers that are not suspect
    LowestFirst<Timer> timers;
    std::deque<Time> deaths;     ///< that brought no task nearer to its end, since a task ended
    std::uint32_t failures = 0;  ///< of starts, in a row
    Time start_after{}, last_start{};
    bool blamed = false;  ///< by the present death: a task has one more failure or suspicion
    bool opened = false, closing = false, broken = false, let_go = false, ended_all = false;
};

}  // namespace sinew::pool
