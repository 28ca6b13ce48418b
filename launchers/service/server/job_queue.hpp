// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launchers/service/job/job_files.hpp"
#include "launchers/service/server/schedule.hpp"
#include "launchers/service/server/store.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::launch::service {

/// The jobs that have not ended: starts them in order, one supervisor each, and records how they end.
/// For the loop's thread.
class JobQueue {
public:
    struct Options {
        std::string folder;  ///< with a folder for each job
        Resources all;
        Backfill backfill = Backfill::no;
        int most_active = 1;
        /// How long a job that is not kept goes on without its client.
        std::chrono::milliseconds client_patience{10'000};
    };
    /// A job that has not ended.
    struct Job {
        explicit Job(StoredJob of, JobFiles its) : stored(std::move(of)), files(std::move(its)) {}
        StoredJob stored;
        JobFiles const files;
        pid_t supervisor = 0;  ///< 0: not known
        // Below: for JobQueue.
        UniqueFd ended;  ///< pidfd of the supervisor
        bool is_child = false;
        int attempts = 0;
        int clients = 0;  ///< that would have it cancelled by leaving
        wire::Loop::Handle watch, retry, client_timer, kill_timer;
    };

    /// `changed` is called after a job was submitted, is to end or has changed its state. One that has
    /// ended is gone from here.
    JobQueue(wire::Loop& loop, Store& store, Options options,
             std::function<void(std::int64_t)> changed);
    JobQueue(JobQueue const&) = delete;
    ~JobQueue();

    /// Takes over what the store has from an earlier server: waiting jobs, and those that run on.
    void recover();
    /// Removes what is stored of jobs that ended before. Throws Unavailable.
    void remove_old(StoredJob::Time ended_before) const;
    /// Stores a job. Throws UsageError for one that can never run here, and Unavailable.
    std::int64_t submit(JobRequest const& request, Actor const& owner);
    /// Ends a job: in order, or at once. `grace`: how long it may take until SIGKILL; no value: what
    /// the job says. Throws UsageError if there is no such job.
    void stop(std::int64_t id, Actor const& by, std::string const& why, bool now,
              std::optional<std::chrono::milliseconds> grace = {});
    /// A client without which the job is to end has come, or has left; `at_once`: on purpose.
    void client_came(std::int64_t id);
    void client_left(std::int64_t id, bool at_once);

    /// Null: it has ended, or never was.
    Job const* find(std::int64_t id) const;
    std::map<std::int64_t, std::unique_ptr<Job>> const& jobs() const { return jobs_; }
    /// How many waiting jobs begin before this one.
    int ahead_of(Job const& job) const;
    Resources available() const;

private:
    std::vector<Job*> waiting_in_order() const;
    void check(JobRequest const& request) const;
    Job& insert(StoredJob stored);
    void schedule();
    void schedule_soon();
    void start(Job& job);
    void watch(Job& job, UniqueFd ended);
    void adopt(Job& job);
    void await_start(Job& job);
    void conclude(Job& job);
    void conclude_later(Job& job);
    void requeue(Job& job);
    bool finish(Job& job, JobState state, std::optional<int> exit_code, std::string const& cause,
                StoredJob::Time ended);
    void signal(Job& job, int number);
    void start_client_timer(Job& job);
    void remove_strangers() const;

    wire::Loop& loop_;
    Store& store_;
    Options const options_;
    std::function<void(std::int64_t)> const changed_;
    std::map<std::int64_t, std::unique_ptr<Job>> jobs_;
    wire::Loop::Handle scheduling_;
};

}  // namespace sinew::launch::service
