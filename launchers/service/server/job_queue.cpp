// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/server/job_queue.hpp"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <sinew/error.hpp>
#include <tuple>
#include <utility>

#include "launchers/common/exit_codes.hpp"
#include "launchers/service/job/supervisor_process.hpp"
#include "src/base/log.hpp"
#include "src/base/system/spawn.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::service {
namespace {

using namespace std::chrono_literals;
using SystemClock = std::chrono::system_clock;
using Phase = SupervisorRecord::Phase;

constexpr auto between_looks = 5ms;    // at what a supervisor has recorded, while a job starts
constexpr auto between_retries = 1s;   // of what the store has refused
constexpr auto between_checks = 50ms;  // whether the last process of a job has ended
constexpr int most_attempts = 3;
constexpr std::size_t most_waiting = 100'000;
// After its limit and grace, a job still needs to be killed and recorded.
constexpr auto ending_time = 5s;

Actor const server_actor{.name = "sinew serve", .address = {}};

std::optional<std::chrono::milliseconds> time_until_end(JobRequest const& request) {
    if (!request.limit) return std::nullopt;
    return *request.limit + request.grace + ending_time;
}

// What is recorded, as far as that can be read now.
std::optional<SupervisorRecord> look_at(JobFiles const& files) {
    try {
        return files.record();
    } catch (SystemError const& problem) {
        log_warning(problem.what());
        return std::nullopt;
    }
}

std::string both_numbers(std::string const& what, std::uint64_t wanted, std::uint64_t there) {
    return text("the job needs ", wanted, " ", what, ", but this server has ", there);
}

}  // namespace

JobQueue::JobQueue(wire::Loop& loop, Store& store, Options options,
                   std::function<void(std::int64_t)> changed)
    : loop_(loop), store_(store), options_(std::move(options)), changed_(std::move(changed)) {}

JobQueue::~JobQueue() = default;

JobQueue::Job& JobQueue::insert(StoredJob stored) {
    auto const id = stored.id;
    JobFiles files(text(options_.folder, "/", stored.request.token));
    return *jobs_.emplace(id, std::make_unique<Job>(std::move(stored), std::move(files)))
                .first->second;
}

void JobQueue::recover() {
    for (auto& stored : store_.unfinished()) insert(std::move(stored));
    remove_strangers();
    std::vector<Job*> begun;  // some of them have ended, and will be gone
    for (auto& [id, job] : jobs_) {
        if (!job->stored.request.keep) start_client_timer(*job);
        if (job->stored.state != JobState::waiting) begun.push_back(job.get());
    }
    for (auto* job : begun) adopt(*job);
    schedule_soon();
}

void JobQueue::remove_old(StoredJob::Time ended_before) const {
    store_.remove_before(ended_before);
    remove_strangers();
}

// Removes the folders of jobs that are not in the store: of submissions that were interrupted.
void JobQueue::remove_strangers() const {
    std::error_code failed;
    for (auto const& each : std::filesystem::directory_iterator(options_.folder, failed))
        if (auto const token = each.path().filename().string();
            is_job_token(token) && !store_.find_token(token))
            JobFiles(each.path().string()).remove();
}

void JobQueue::check(JobRequest const& request) const {
    auto const& needs = request.needs;
    auto const& all = options_.all;
    if (needs.gpus > all.gpus)
        throw UsageError(both_numbers("GPUs", static_cast<std::uint64_t>(needs.gpus),
                                      static_cast<std::uint64_t>(all.gpus)));
    if (needs.cpus > all.cpus)
        throw UsageError(both_numbers("processors", static_cast<std::uint64_t>(needs.cpus),
                                      static_cast<std::uint64_t>(all.cpus)));
    if (needs.memory > all.memory)
        throw UsageError(both_numbers("bytes of memory", needs.memory, all.memory));
    if (jobs_.size() >= most_waiting)
        throw Unavailable(text(most_waiting, " jobs wait or run already. Submit it later"));
    for (auto const& [id, job] : jobs_)
        if (job->stored.request.name == request.name)
            throw UsageError(text("a job ", request.name, " waits or runs already (job ", id,
                                  "). Choose another --name"));
}

std::int64_t JobQueue::submit(JobRequest const& request, Actor const& owner) {
    if (auto const known = store_.find_token(request.token)) return *known;
    check(request);
    JobFiles const files(text(options_.folder, "/", request.token));
    try {
        files.create(request);
    } catch (SystemError const& problem) {
        throw Unavailable(text("the job cannot be stored (", problem.what(), ")"));
    }
    StoredJob stored;
    stored.request = request;
    stored.owner = to_text(owner);
    stored.submitted = SystemClock::now();
    try {
        stored.id = store_.add(request, owner, stored.submitted);
    } catch (...) {
        files.remove();
        throw;
    }
    auto const id = stored.id;
    insert(std::move(stored));
    changed_(id);
    schedule_soon();
    return id;
}

JobQueue::Job const* JobQueue::find(std::int64_t id) const {
    auto const at = jobs_.find(id);
    return at == jobs_.end() ? nullptr : at->second.get();
}

std::vector<JobQueue::Job*> JobQueue::waiting_in_order() const {
    std::vector<Job*> queue;
    for (auto const& [id, job] : jobs_)
        if (job->stored.state == JobState::waiting) queue.push_back(job.get());
    std::ranges::stable_sort(queue, std::ranges::greater{},
                             [](Job const* job) { return job->stored.request.priority; });
    return queue;
}

int JobQueue::ahead_of(Job const& job) const {
    if (job.stored.state != JobState::waiting) return 0;
    auto const key = [](Job const& of) {
        return std::tuple(-of.stored.request.priority, of.stored.id);
    };
    return static_cast<int>(std::ranges::count_if(jobs_, [&](auto const& each) {
        return each.second->stored.state == JobState::waiting && key(*each.second) < key(job);
    }));
}

Resources JobQueue::available() const {
    Resources used;
    for (auto const& [id, job] : jobs_)
        if (job->stored.state != JobState::waiting) used += job->stored.request.needs;
    return options_.all.without(used);
}

void JobQueue::schedule_soon() {
    scheduling_ = loop_.after(wire::Clock::duration::zero(), [this] { schedule(); });
}

void JobQueue::schedule() {
    std::vector<ActiveJob> active;
    for (auto const& [id, job] : jobs_) {
        // One starts at a time, so that they begin in the order of the queue.
        if (job->stored.state == JobState::starting) return;
        if (job->stored.state != JobState::running) continue;
        auto const limit = time_until_end(job->stored.request);
        active.push_back(
            {job->stored.request.needs, limit && job->stored.started
                                            ? std::optional(*job->stored.started + *limit)
                                            : std::nullopt});
    }
    if (active.size() >= static_cast<std::size_t>(options_.most_active)) return;
    auto const waiting = waiting_in_order();
    std::vector<WaitingJob> queue;
    for (auto const* job : waiting)
        queue.push_back({job->stored.request.needs, time_until_end(job->stored.request)});
    if (auto const next =
            choose_next(queue, active, options_.all, options_.backfill, SystemClock::now()))
        start(*waiting[*next]);
}

void JobQueue::start(Job& job) {
    auto const id = job.stored.id;
    Spawned started;
    try {
        job.files.clear_record();
        store_.set_starting(id);
        auto const lock = job.files.lock();
        started = start_supervisor(job.files, lock);
    } catch (SystemError const& problem) {
        log_warning(problem.what());
        bool const lost = problem.error_number() == ENOENT || problem.error_number() == ENOTDIR;
        if (lost && finish(job, JobState::failed, exit_launcher_failed,
                           text("its files are gone (", problem.what(), ")"), SystemClock::now()))
            return;
        scheduling_ = loop_.after(between_retries, [this] { schedule(); });
        return;
    } catch (Error const& problem) {  // a full disk, no more processes: it may pass
        log_warning(problem.what());
        scheduling_ = loop_.after(between_retries, [this] { schedule(); });
        return;
    }
    job.stored.state = JobState::starting;
    job.supervisor = started.pid;
    job.is_child = true;
    ++job.attempts;
    watch(job, std::move(started.ended));
    await_start(job);
    changed_(id);
}

void JobQueue::watch(Job& job, UniqueFd ended) {
    job.ended = std::move(ended);
    job.watch = loop_.readable(job.ended.get(), [this, &job] {
        job.watch = {};
        conclude(job);
    });
}

// Finds the supervisor of a job that an earlier server has started.
void JobQueue::adopt(Job& job) {
    if (job.files.is_unlocked()) return conclude(job);
    auto const record = look_at(job.files);
    auto process = record ? open_supervisor(*record) : UniqueFd();
    if (!process) {
        // Its supervisor has not recorded itself yet, or was killed while others live.
        job.retry = loop_.after(between_checks, [this, &job] { adopt(job); });
        return;
    }
    job.supervisor = record->pid;
    watch(job, std::move(process));
    if (!job.stored.cancelled_by.empty()) signal(job, SIGTERM);
    if (job.stored.state == JobState::starting) await_start(job);
}

void JobQueue::await_start(Job& job) {
    auto const again = [&](wire::Clock::duration pause) {
        job.retry = loop_.after(pause, [this, &job] { await_start(job); });
    };
    auto const record = look_at(job.files);
    if (!record || record->phase == Phase::acquiring) return again(between_looks);
    if (record->started == StoredJob::Time{}) return;  // it ends, and has not begun
    try {
        store_.set_running(job.stored.id, record->started, record->gpus);
    } catch (Unavailable const& problem) {
        log_warning(problem.what());
        return again(between_retries);
    }
    job.stored.state = JobState::running;
    job.stored.started = record->started;
    job.stored.gpus = record->gpus;
    changed_(job.stored.id);
    schedule_soon();
}

void JobQueue::conclude_later(Job& job) {
    job.retry = loop_.after(between_checks, [this, &job] { conclude(job); });
}

// The supervisor has ended.
void JobQueue::conclude(Job& job) {
    int status = 0;
    if (std::exchange(job.is_child, false)) reap(job.supervisor, status);
    job.supervisor = 0;
    // If it was killed, `sinew run` ends the ranks before it ends.
    if (!job.files.is_unlocked()) return conclude_later(job);
    std::optional<SupervisorRecord> record;
    try {
        record = job.files.record();
    } catch (SystemError const& problem) {  // a job that has run must not run again
        log_warning(problem.what());
        job.retry = loop_.after(between_retries, [this, &job] { conclude(job); });
        return;
    }
    bool const cancelled = !job.stored.cancelled_by.empty();
    auto const now = SystemClock::now();
    bool done = false;
    if (!record || record->phase == Phase::acquiring) {
        if (!cancelled && job.attempts < most_attempts) return requeue(job);
        done = finish(job, cancelled ? JobState::cancelled : JobState::failed,
                      cancelled ? std::nullopt : std::optional(exit_launcher_failed),
                      cancelled ? ""
                                : text("its supervisor was killed before it started, ",
                                       job.attempts, " times"),
                      now);
    } else if (record->phase == Phase::running) {
        done = finish(job, cancelled ? JobState::cancelled : JobState::failed,
                      cancelled ? 128 + SIGKILL : exit_launcher_failed,
                      cancelled ? "" : "its supervisor was killed", now);
    } else {
        auto const state = record->exit_code == 0 && record->started != StoredJob::Time{}
                               ? JobState::completed
                           : cancelled         ? JobState::cancelled
                           : record->timed_out ? JobState::timeout
                                               : JobState::failed;
        done = finish(job, state, record->exit_code, record->cause, record->ended);
    }
    // What has ended is in its record, and is stored when that works again.
    if (!done) job.retry = loop_.after(between_retries, [this, &job] { conclude(job); });
}

// Puts a job that has not begun back into the queue, where it is before all that came later.
void JobQueue::requeue(Job& job) {
    try {
        store_.set_waiting(job.stored.id);
    } catch (Unavailable const& problem) {
        log_warning(problem.what());
        job.retry = loop_.after(between_retries, [this, &job] { conclude(job); });
        return;
    }
    job.stored.state = JobState::waiting;
    job.retry = {};
    changed_(job.stored.id);
    schedule_soon();
}

// Returns false if that cannot be stored. Otherwise the job is gone.
bool JobQueue::finish(Job& job, JobState state, std::optional<int> exit_code,
                      std::string const& cause, StoredJob::Time ended) {
    auto const id = job.stored.id;
    try {
        store_.finish(id, state, exit_code, cause, ended);
    } catch (Unavailable const& problem) {
        log_warning(problem.what());
        return false;
    }
    jobs_.erase(id);
    changed_(id);
    schedule_soon();
    return true;
}

void JobQueue::stop(std::int64_t id, Actor const& by, std::string const& why, bool now,
                    std::optional<std::chrono::milliseconds> grace) {
    auto const at = jobs_.find(id);
    if (at == jobs_.end()) throw UsageError(text("there is no job ", id, " that waits or runs"));
    Job& job = *at->second;
    if (job.stored.cancelled_by.empty()) {
        try {
            store_.set_cancelled(id, by, why);
        } catch (Unavailable const& problem) {
            // It ends nevertheless.
            log_warning(problem.what());
        }
        job.stored.cancelled_by = to_text(by);
    }
    if (job.stored.state == JobState::waiting) {
        if (!finish(job, JobState::cancelled, std::nullopt, "", SystemClock::now()))
            throw Unavailable(text("the end of job ", id, " cannot be stored. Try again later"));
        return;
    }
    changed_(id);
    signal(job, now ? SIGUSR1 : SIGTERM);
    if (grace) job.kill_timer = loop_.after(*grace, [this, &job] { signal(job, SIGUSR1); });
}

void JobQueue::signal(Job& job, int number) {
    if (job.ended) ::syscall(SYS_pidfd_send_signal, job.ended.get(), number, nullptr, 0);
}

void JobQueue::client_came(std::int64_t id) {
    auto const at = jobs_.find(id);
    if (at == jobs_.end()) return;
    ++at->second->clients;
    at->second->client_timer = {};
}

void JobQueue::client_left(std::int64_t id, bool at_once) {
    auto const at = jobs_.find(id);
    if (at == jobs_.end()) return;
    Job& job = *at->second;
    if (--job.clients > 0 || job.stored.request.keep) return;
    if (!at_once) return start_client_timer(job);
    try {
        stop(id, server_actor, "its client has left", false);
    } catch (Error const& problem) {
        log_warning(problem.what());
        start_client_timer(job);
    }
}

void JobQueue::start_client_timer(Job& job) {
    auto const id = job.stored.id;
    job.client_timer = loop_.after(options_.client_patience, [this, id] {
        auto const at = jobs_.find(id);
        if (at == jobs_.end()) return;
        try {
            stop(id, server_actor, "its client is gone", false);
        } catch (Error const& problem) {
            log_warning(problem.what());
            start_client_timer(*at->second);
        }
    });
}

}  // namespace sinew::launch::service
