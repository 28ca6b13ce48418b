// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "src/base/text.hpp"
#include "src/pool/scheduler/state.hpp"

namespace sinew::pool {

namespace {

template <class... Words>
void require(bool holds, Words const&... what) {
    if (!holds) throw std::logic_error(text("the pool's scheduler is inconsistent: ", what...));
}

using Where = Record::Where;

/// Checks a job's counters against the places of its tasks. Returns the number of queued tasks.
std::uint64_t check_job(Job const& job) {
    std::uint64_t queued = job.fresh_end() - job.fresh, held = 0, held_records = 0;
    if (job.extra != nullptr) {
        auto above = job.fresh;
        std::uint64_t sum = 0;
        for (auto const& range : job.extra->returned.ranges()) {
            require(range.count > 0 && range.end() <= above, "ranges overlap", " (job ", job.id,
                    ")");
            require(range.end() <= job.limit, "a dropped task is queued", " (job ", job.id, ")");
            above = range.first;
            sum += range.count;
        }
        require(sum == job.extra->returned.count(), "the sum of its ranges", " (job ", job.id, ")");
        queued += sum;
        for (auto const& [index, record] : job.extra->records) {
            bool const free = record.where != Where::held;
            require(index < job.total, "a record of no task", " (job ", job.id, ")");
            require(!free || index < job.limit, "a dropped task waits", " (job ", job.id, ")");
            queued += free ? 1 : 0;
            held_records += free ? 0 : 1;
        }
    }
    for (auto const* batch = job.batches; batch != nullptr; batch = batch->next) {
        require(batch->job == &job, "a batch of another", " (job ", job.id, ")");
        require(batch->done < batch->count, "an ended batch is held", " (job ", job.id, ")");
        require(batch->first + batch->count <= job.fresh, "an unsent task is held", " (job ",
                job.id, ")");
        require(!batch->alone || batch->count == 1, "several tasks alone", " (job ", job.id, ")");
        held += batch->count - batch->done;
        held_records -= batch->alone ? 1 : 0;
    }
    require(held == job.held, "the sum of its batches", " (job ", job.id, ")");
    require(held_records == 0, "records of held tasks", " (job ", job.id, ")");
    require(queued + held + job.ended == job.total, "a task is lost or twice", " (job ", job.id,
            ")");
    require(job.linked == job.has_ranges(), "its place in the queue", " (job ", job.id, ")");
    require(!job.complete || job.ended < job.total, "it has ended", " (job ", job.id, ")");
    return queued;
}

void check_worker(Worker const& worker, SchedulerSettings const& settings) {
    using enum Worker::Phase;
    auto const most = settings.in_flight == 1 ? 1 : std::max(settings.in_flight, most_in_flight);
    require(worker.batches.size() <= most, "more than its credit", " (worker ", worker.slot, "/",
            worker.epoch, ")");
    require(worker.batches.empty() || worker.phase == ready || worker.phase == killed,
            "has work, but is not there", " (worker ", worker.slot, "/", worker.epoch, ")");
    std::uint32_t revokes = 0;
    BatchId last = 0;
    for (auto const* batch : worker.batches) {
        require(batch->slot == worker.slot && batch->id > last, "its batches", " (worker ",
                worker.slot, "/", worker.epoch, ")");
        require(!batch->exclusive || worker.batches.size() == 1, "a suspect task is not alone",
                " (worker ", worker.slot, "/", worker.epoch, ")");
        last = batch->id;
        revokes += batch->revoked && !batch->answered ? 1 : 0;
    }
    require(revokes == worker.revokes, "revokes not answered", " (worker ", worker.slot, "/",
            worker.epoch, ")");
}

}  // namespace

void Scheduler::State::check() const {
    std::uint64_t queued = 0, held = 0, ended = 0, outstanding = 0;
    for (auto const& [id, job] : jobs) {
        queued += check_job(job);
        held += job.held;
        ended += job.total - job.ended;
    }
    for (auto const& [key, function] : functions) outstanding += function.outstanding;
    require(queued == stats.queued, "the sum of queued tasks");
    require(held == stats.held, "the sum of held tasks");
    require(ended == outstanding, "the sum of what functions have to do");
    require(stats.submitted == stats.done + stats.failed + stats.dropped + queued + held,
            "a task has ended twice or never");
    std::uint32_t present = 0, able = 0;
    std::uint64_t waiting = 0;
    for (auto const& worker : workers) {
        check_worker(worker, settings);
        present += worker.phase != Worker::Phase::vacant ? 1 : 0;
        able += worker.usable() ? 1 : 0;
        waiting += worker.suspect ? 0 : worker.revokes;
        bool const offered = available.bucket_of(worker.slot) != BucketQueue::none;
        require(!offered || (worker.usable() && !worker.suspect), "worker ", worker.slot,
                " is offered work");
        require(!offered || available.bucket_of(worker.slot) == worker.batches.size(), "worker ",
                worker.slot, " is on the wrong bucket");
    }
    require(present == stats.workers && able == usable && waiting == steals, "sums of workers");
}

}  // namespace sinew::pool
