// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <vector>

#include "src/base/text.hpp"
#include "src/pool/core_state.hpp"

namespace sinew::pool {

namespace {

void require(bool holds, std::string const& what) {
    if (!holds) throw std::logic_error(text("the pool's core contradicts itself: ", what));
}

using Where = Record::Where;

/// What a job says of itself, against where its tasks are. Returns the tasks that nobody has.
std::uint64_t check_job(Job const& job) {
    auto const name = text("job ", job.id, ": ");
    std::uint64_t queued = job.fresh_end() - job.fresh, held = 0, held_records = 0;
    if (job.extra != nullptr) {
        auto above = job.fresh;
        std::uint64_t sum = 0;
        for (auto const& range : job.extra->returned.ranges()) {
            require(range.count > 0 && range.end() <= above, text(name, "ranges overlap"));
            require(range.end() <= job.limit, text(name, "a dropped task is queued"));
            above = range.first;
            sum += range.count;
        }
        require(sum == job.extra->returned.count(), text(name, "the sum of its ranges"));
        queued += sum;
        for (auto const& [index, record] : job.extra->records) {
            bool const free = record.where != Where::held;
            require(index < job.total, text(name, "a record of no task"));
            require(!free || index < job.limit, text(name, "a dropped task waits"));
            queued += free ? 1 : 0;
            held_records += free ? 0 : 1;
        }
    }
    for (auto const* batch = job.batches; batch != nullptr; batch = batch->next) {
        require(batch->job == &job, text(name, "a batch of another"));
        require(batch->done < batch->count, text(name, "an ended batch is held"));
        require(batch->first + batch->count <= job.fresh, text(name, "an unsent task is held"));
        require(!batch->alone || batch->count == 1, text(name, "several tasks alone"));
        held += batch->count - batch->done;
        held_records -= batch->alone ? 1 : 0;
    }
    require(held == job.held, text(name, "the sum of its batches"));
    require(held_records == 0, text(name, "records of held tasks"));
    require(queued + held + job.ended == job.total, text(name, "a task is lost or twice"));
    require(job.linked == job.has_ranges(), text(name, "its place in the queue"));
    require(!job.complete || job.ended < job.total, text(name, "it has ended"));
    return queued;
}

void check_worker(Worker const& worker, CoreSettings const& settings) {
    auto const name = text("worker ", worker.slot, "/", worker.epoch, ": ");
    using enum Worker::Phase;
    require(worker.batches.size() <= settings.in_flight, text(name, "more than its credit"));
    require(worker.batches.empty() || worker.phase == ready || worker.phase == killed,
            text(name, "has work, but is not there"));
    std::uint32_t revokes = 0;
    BatchId last = 0;
    for (auto const* batch : worker.batches) {
        require(batch->slot == worker.slot && batch->id > last, text(name, "its batches"));
        require(!batch->exclusive || worker.batches.size() == 1,
                text(name, "a suspect has company"));
        last = batch->id;
        revokes += batch->revoked && !batch->answered ? 1 : 0;
    }
    require(revokes == worker.revokes, text(name, "revokes not answered"));
}

}  // namespace

void Core::State::check() const {
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
        bool const offered = available.shelf_of(worker.slot) != Shelves::none;
        require(!offered || (worker.usable() && !worker.suspect),
                text("worker ", worker.slot, " is offered work"));
        require(!offered || available.shelf_of(worker.slot) == worker.batches.size(),
                text("worker ", worker.slot, " is on the wrong shelf"));
    }
    require(present == stats.workers && able == usable && waiting == steals, "sums of workers");
}

}  // namespace sinew::pool
