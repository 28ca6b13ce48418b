// SPDX-License-Identifier: Apache-2.0
#include "src/pool/scheduler/job.hpp"

namespace sinew::pool {

Batch& BatchPool::take() {
    if (free_.empty()) return all_.emplace_back();
    auto& batch = *free_.back();
    free_.pop_back();
    return batch = {};
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
