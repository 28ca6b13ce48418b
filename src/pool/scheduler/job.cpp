// SPDX-License-Identifier: Apache-2.0
#include "src/pool/scheduler/job.hpp"

#include "src/pool/scheduler/invariant.hpp"

namespace sinew::pool {

Batch& BatchPool::take() {
    if (free_.empty()) return all_.emplace_back();
    auto& batch = *free_.back();
    free_.pop_back();
    return batch = {};
}

Record* Job::record(std::uint64_t index) {
    if (extra == nullptr) return nullptr;
    auto const found = extra->records.find(index);
    return found == extra->records.end() ? nullptr : &found->second;
}

std::uint32_t Job::attempts(std::uint64_t index) {
    auto const* const known = record(index);
    return known == nullptr ? 0 : known->attempts;
}

void Job::add(Batch& batch) {
    batch.job = this;
    batch.previous = nullptr;
    batch.next = batches;
    if (batches != nullptr) batches->previous = &batch;
    batches = &batch;
    held += batch.count - batch.done;
}

void Job::remove(Batch& batch) {
    if (batch.next != nullptr) batch.next->previous = batch.previous;
    (batch.previous != nullptr ? batch.previous->next : batches) = batch.next;
    held -= batch.count - batch.done;
}

std::uint64_t Job::check() const {
    auto const holds = [this](bool condition, char const* what) {
        require(condition, what, " (job ", id, ")");
    };
    std::uint64_t queued = fresh_end() - fresh, in_batches = 0, held_records = 0;
    if (extra != nullptr) {
        auto above = fresh;
        std::uint64_t sum = 0;
        for (auto const& range : extra->returned.ranges()) {
            holds(range.count > 0 && range.end() <= above, "ranges overlap");
            holds(range.end() <= limit, "a dropped task is queued");
            above = range.first;
            sum += range.count;
        }
        holds(sum == extra->returned.count(), "the sum of its ranges");
        queued += sum;
        for (auto const& [index, record] : extra->records) {
            bool const free = record.where != Record::Where::held;
            holds(index < total, "a record of no task");
            holds(!free || index < limit, "a dropped task waits");
            ++(free ? queued : held_records);
        }
    }
    for (auto const* batch = batches; batch != nullptr; batch = batch->next) {
        holds(batch->job == this, "a batch of another");
        holds(batch->done < batch->count, "an ended batch is held");
        holds(batch->first + batch->count <= fresh, "an unsent task is held");
        holds(!batch->alone || batch->count == 1, "several tasks alone");
        in_batches += batch->count - batch->done;
        held_records -= batch->alone ? 1 : 0;
    }
    holds(in_batches == held, "the sum of its batches");
    holds(held_records == 0, "records of held tasks");
    holds(queued + held + ended == total, "a task is lost or twice");
    holds(linked == has_ranges(), "its place in the queue");
    holds(!complete || ended < total, "it has ended");
    return queued;
}

void JobQueue::push_back(Job& job) {
    if (job.linked) return;
    job.linked = true;
    job.previous = back_;
    job.next = nullptr;
    (back_ != nullptr ? back_->next : front_) = &job;
    back_ = &job;
}

void JobQueue::push_front(Job& job) {
    if (job.linked) return;
    job.linked = true;
    job.previous = nullptr;
    job.next = front_;
    (front_ != nullptr ? front_->previous : back_) = &job;
    front_ = &job;
}

void JobQueue::remove(Job& job) {
    if (!job.linked) return;
    job.linked = false;
    (job.previous != nullptr ? job.previous->next : front_) = job.next;
    (job.next != nullptr ? job.next->previous : back_) = job.previous;
}

}  // namespace sinew::pool
