// SPDX-License-Identifier: Apache-2.0
#include "tests/pool/scheduler/task_ledger.hpp"

#include <algorithm>
#include <stdexcept>

#include "src/base/text.hpp"

namespace sinew::pool {

namespace {

template <class... Words>
void require(bool holds, Words const&... what) {
    if (!holds) throw std::logic_error(text(what...));
}

}  // namespace

void Ledger::happens(Event const& event) {
    if (auto const* e = std::get_if<JobSubmitted>(&event)) {
        jobs_[e->job].options = e->options;
        jobs_[e->job].tasks.resize(e->count);
        jobs_[e->job].complete = e->complete;
    } else if (auto const* grows = std::get_if<JobGrows>(&event)) {
        auto& job = jobs_.at(grows->job);
        if (job.ended || job.complete) return;
        job.tasks.resize(job.tasks.size() + grows->more);
        job.complete = grows->complete;
    } else if (auto const* cancelled = std::get_if<JobCancelled>(&event)) {
        jobs_.at(cancelled->job).cancelled = jobs_.at(cancelled->job).complete = true;
    } else if (auto const* ready = std::get_if<WorkerReady>(&event)) {
        if (knows(ready->worker)) views_.at(key(ready->worker)).ready = true;
    } else if (auto const* failed = std::get_if<StartFailed>(&event)) {
        views_.erase(key(failed->worker));
    } else if (auto const* suspect = std::get_if<WorkerSuspect>(&event)) {
        if (knows(suspect->worker)) views_.at(key(suspect->worker)).suspect = true;
    } else if (auto const* alive = std::get_if<WorkerAlive>(&event)) {
        if (knows(alive->worker)) views_.at(key(alive->worker)).suspect = false;
    } else if (auto const* revoked = std::get_if<Revoked>(&event)) {
        if (!knows(revoked->worker)) return;
        auto& batches = views_.at(key(revoked->worker)).batches;
        auto const found = batches.find(revoked->batch);
        if (found == batches.end()) return;
        found->second.count = revoked->kept;
        if (found->second.done >= revoked->kept) batches.erase(found);
    } else if (auto const* results = std::get_if<Results>(&event)) {
        note_cancelled(*results);
    } else if (auto const* died = std::get_if<WorkerDied>(&event)) {
        note_death(*died);
    } else if (std::holds_alternative<Terminate>(event)) {
        dropping_ = true;
    }
}

/// Results of a cancelled job are dropped; the worker no longer has the tasks.
void Ledger::note_cancelled(Results const& e) {
    if (!knows(e.worker)) return;
    auto& batches = views_.at(key(e.worker)).batches;
    auto const found = batches.find(e.batch);
    if (found == batches.end() || !jobs_.at(found->second.job).cancelled) return;
    auto& view = found->second;
    if (e.from != view.done || e.done <= view.done || e.done > view.count) return;
    view.done = e.done;
    if (view.done == view.count) batches.erase(found);
}

void Ledger::note_death(WorkerDied const& e) {
    if (!knows(e.worker)) return;
    auto const view = views_.at(key(e.worker));
    views_.erase(key(e.worker));
    std::vector<TaskTruth*> left;
    for (auto const& [id, batch] : view.batches)
        for (auto offset = batch.done; offset < batch.count; ++offset) {
            left.push_back(&task(batch.job, batch.first + offset));
            left.back()->was_lost = true;
        }
    if (!e.status_known && left.size() == 1) blame(*left.front(), e);
    if (!e.status_known || !e.running) return;
    auto const batch = view.batches.find(e.running->batch);
    if (batch == view.batches.end() || e.running->offset < batch->second.done) return;
    blame(task(batch->second.job, batch->second.first + e.running->offset), e);
}

/// Whether these results follow others that were lost in transit.
bool Ledger::leaves_a_gap(Event const& event) const {
    auto const* const results = std::get_if<Results>(&event);
    if (results == nullptr || !knows(results->worker)) return false;
    auto const& batches = views_.at(key(results->worker)).batches;
    auto const batch = batches.find(results->batch);
    return batch != batches.end() && results->from != batch->second.done;
}

void Ledger::blame(TaskTruth& task, WorkerDied const& e) {
    if (e.cause == Cause::planned) return;
    if (e.cause == Cause::timeout) task.timed_out = true;
    else ++(e.cause == Cause::memory ? task.memory_deaths : task.crashes);
}

void Ledger::judge(Event const& event, std::vector<Action> const& actions) {
    for (auto const& action : actions) {
        require(!over_, "something is done after the end");
        std::visit([&](auto const& a) { judge_one(event, a); }, action);
    }
}

void Ledger::end(JobId id, std::uint64_t index) {
    auto& job = jobs_.at(id);
    require(!job.ended, "job ", id, " goes on after its end");
    require(index < job.tasks.size(), "job ", id, " has no task ", index);
    require(++job.tasks[index].ends == 1, "task ", index, " of job ", id, " ends twice");
}

void Ledger::judge_one(Event const&, StartWorker const& a) {
    require(a.worker.epoch > last_epoch_, "epoch ", a.worker.epoch, " comes again");
    for (auto const& [other, view] : views_)
        require(other.first != a.worker.slot, "slot ", a.worker.slot, " has two workers");
    last_epoch_ = a.worker.epoch;
    views_[key(a.worker)];
}

void Ledger::judge_one(Event const&, SendBatch const& a) {
    require(knows(a.worker), "work for a worker that is gone");
    auto& view = views_.at(key(a.worker));
    require(view.ready && !view.suspect && !view.doomed, "work for a worker that is not well");
    require(a.count > 0 && a.attempt > 0, "an empty batch");
    auto const& job = jobs_.at(a.job);
    require(!job.ended && a.first + a.count <= job.tasks.size(), "a batch of no tasks");
    require(!job.cancelled, "work of a cancelled job");
    for (auto index = a.first; index < a.first + a.count; ++index)
        require(job.tasks[index].ends == 0, "task ", index, " is sent after its end");
    view.batches[a.batch] = {a.job, a.first, a.count, 0};
}

void Ledger::judge_one(Event const& event, Accept const& a) {
    auto const* const results = std::get_if<Results>(&event);
    require(results != nullptr && knows(a.worker), "results are accepted from nowhere");
    auto& batches = views_.at(key(a.worker)).batches;
    auto& view = batches.at(a.batch);
    require(results->from == view.done, "results are accepted after some that never came");
    require(a.first == view.first + view.done && a.count == results->done - view.done,
            "other results are accepted than came");
    for (auto index = a.first; index < a.first + a.count; ++index) {
        auto const threw =
            std::any_of(results->thrown.begin(), results->thrown.end(),
                        [&](Thrown const& one) { return view.first + one.offset == index; });
        if (!threw) end(a.job, index);
    }
    view.done = results->done;
    if (view.done == view.count) batches.erase(a.batch);
}

void Ledger::judge_one(Event const&, Fail const& a) {
    end(a.job, a.index);
    auto& job = jobs_.at(a.job);
    auto const& truth = job.tasks[a.index];
    job.lowest_failed = std::min(job.lowest_failed, a.index);
    auto const failure_count =
        a.reason == Fail::Reason::memory ? truth.memory_deaths : truth.crashes;
    using enum Fail::Reason;
    if (a.reason == thrown) require(truth.threw > 0, "task ", a.index, " has not thrown");
    if (a.reason == timeout) require(truth.timed_out, "task ", a.index, " was not too long");
    if (a.reason == crashed || a.reason == memory)
        require(failure_count > job.options.retries, "task ", a.index, " fails after ",
                failure_count, " failure_count of its own");
    if (a.reason == maybe_executed)
        require(job.options.at_most_once && truth.was_lost, "task ", a.index, " was not lost");
}

void Ledger::judge_one(Event const&, Drop const& a) {
    auto const& job = jobs_.at(a.job);
    require(a.count > 0, "nothing is dropped");
    bool const all = job.cancelled || dropping_ || broken_;
    require(all || (job.options.stop_at_failure && a.first > job.lowest_failed),
            "tasks are dropped for no reason");
    for (auto index = a.first; index < a.first + a.count; ++index) end(a.job, index);
}

void Ledger::judge_one(Event const&, JobEnded const& a) {
    auto& job = jobs_.at(a.job);
    require(!job.ended && (job.complete || broken_ || dropping_), "job ", a.job, " ends early");
    for (auto const& truth : job.tasks) require(truth.ends == 1, "a task never came to an end");
    job.ended = job.complete = true;
}

void Ledger::judge_one(Event const&, KillWorker const& a) {
    require(knows(a.worker), "a worker is killed that is gone");
    views_.at(key(a.worker)).doomed = true;
}

void Ledger::judge_one(Event const&, ReleaseWorker const& a) {
    require(knows(a.worker), "a worker is released that is gone");
    auto& view = views_.at(key(a.worker));
    require(view.batches.empty() && !view.doomed, "a worker is released that has work");
    view.doomed = true;
}

void Ledger::judge_one(Event const&, Revoke const& a) {
    require(knows(a.worker) && views_.at(key(a.worker)).batches.count(a.batch) == 1,
            "a batch is revoked that nobody has");
}

void Ledger::judge_one(Event const&, AskToStop const& a) {
    require(knows(a.worker), "a worker is asked that is gone");
}

void Ledger::judge_one(Event const& event, Fenced const& a) {
    require(!knows(a.worker) || broken_ || dropping_ || leaves_a_gap(event),
            "a living worker is fenced");
}

void Ledger::judge_one(Event const& event, Retried const& a) {
    require(std::holds_alternative<WorkerDied>(event) && jobs_.at(a.job).tasks[a.index].ends == 0,
            "a task is tried again without a death");
}

}  // namespace sinew::pool
