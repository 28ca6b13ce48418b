// SPDX-License-Identifier: Apache-2.0
#include "src/pool/worker/current_task.hpp"

#include <sinew/this_task.hpp>

#include "src/pool/protocol.hpp"

namespace sinew::pool {
namespace {

std::atomic<CurrentTask*> current{nullptr};

}  // namespace

CurrentTask::CurrentTask(process::StatusPage& page)
    : page_(page), source_word_(nothing_running), asked_word_(nothing_running) {
    current.store(this);
}

CurrentTask::~CurrentTask() { current.store(nullptr); }

CurrentTask* CurrentTask::here() { return current.load(); }

void CurrentTask::enter_batch(std::uint64_t first, std::uint32_t attempt) {
    first_.store(first, std::memory_order_relaxed);
    attempt_.store(attempt, std::memory_order_relaxed);
}

std::stop_token CurrentTask::stop_token() {
    auto const running = word();
    if (running == nothing_running) return {};
    std::lock_guard const lock(mutex_);
    if (source_word_ != running) {
        source_ = std::stop_source();
        source_word_ = running;
        if (asked_word_ == running) source_.request_stop();
    }
    return source_.get_token();
}

std::uint64_t CurrentTask::index() const {
    auto const running = word();
    if (running == nothing_running) return 0;
    return first_.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(running);
}

void CurrentTask::ask_to_stop(std::uint64_t word) {
    std::stop_source source(std::nostopstate);
    {
        std::lock_guard const lock(mutex_);
        asked_word_ = word;
        if (source_word_ == word) source = source_;
    }
    source.request_stop();
}

}  // namespace sinew::pool

namespace sinew::this_task {

std::stop_token stop_token() {
    auto* const task = pool::CurrentTask::here();
    return task == nullptr ? std::stop_token() : task->stop_token();
}

std::uint64_t index() {
    auto* const task = pool::CurrentTask::here();
    return task == nullptr ? 0 : task->index();
}

std::uint32_t attempt() {
    auto* const task = pool::CurrentTask::here();
    return task == nullptr ? 1 : task->attempt();
}

}  // namespace sinew::this_task
