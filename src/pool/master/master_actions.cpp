// SPDX-License-Identifier: Apache-2.0
// Carries out the actions of the scheduler.
#include <algorithm>
#include <array>
#include <sinew/remote_error.hpp>

#include "src/base/bytes.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/pool/master/master.hpp"

namespace sinew::pool {
namespace {

constexpr std::size_t many_over = 64;
// Delay of a process start if an idle worker has just got work: on few cores, that worker would
// otherwise wait 14 ms for the start.
constexpr auto head_start = std::chrono::milliseconds(10);

}  // namespace

Master::Worker* Master::find(WorkerId id) {
    auto const found = workers_.find(key_of(id));
    return found == workers_.end() ? nullptr : found->second.get();
}

// On the loop's thread: a child's parent-death signal is bound to the thread that starts it.
void Master::act(StartWorker const& action) {
    end_with_program();
    auto worker = std::make_unique<Worker>();
    worker->id = action.worker;
    auto const start = [weak = weak_from_this(), id = action.worker] {
        if (auto const self = weak.lock()) self->start(id);
    };
    if (woken_) worker->patience = runtime_.loop().after(head_start, start);
    else runtime_.loop().post(start);
    workers_.emplace(key_of(action.worker), std::move(worker));
}

void Master::start(WorkerId id) {
    auto* const worker = find(id);
    if (worker == nullptr) return;
    if (worker->killed) {  // before it was started
        workers_.erase(key_of(id));
        return step_in_turn(WorkerDied{id, WorkerDied::Cause::planned, true, std::nullopt, ""});
    }
    WorkerStart start;
    start.program = detail::program_identity().text;
    if (auto const* entry = options_.initializer.entry()) {
        start.initializer = detail::id_of(*entry).value;
        start.initializer_arguments = options_.initializer.arguments();
    }
    start.max_rss_bytes = options_.max_rss_per_worker;
    start.meta = meta_.value_or(options_.meta);
    try {
        worker->handle = placement_->start(id.slot, start);
    } catch (std::exception const& problem) {  // includes std::system_error of std::thread
        workers_.erase(key_of(id));
        return step_in_turn(StartFailed{id, problem.what()});
    }
    log("worker_started", {{"slot", std::uint64_t{id.slot}}, {"who", worker->handle->name()}});
    worker->handle->on({.message = [this, id](Kind kind, auto body) { on_message(id, kind, body); },
                        .liveness = [this, id](bool suspect) { on_liveness(id, suspect); },
                        .ended = [this, id](WorkerEnd const& end) { on_ended(id, end); }});
}

void Master::tell_function(Worker& worker, JobRecord& job) {
    auto const& spec = job.spec();
    FunctionHead const head{
        .job = spec.job,
        .task_id = detail::id_of(*spec.function).value,
        .soft_limit_ns = static_cast<std::uint64_t>(spec.options.soft_limit.count()),
        .hard_limit_ns = static_cast<std::uint64_t>(spec.options.hard_limit.count())};
    worker.handle->send(Kind::function, {bytes_of(head), spec.state.bytes()});
}

void Master::tell_to_forget(Worker& worker) {
    for (auto const job : std::exchange(worker.over, {})) {
        JobHead const head{job};
        worker.handle->send(Kind::forget, {bytes_of(head)});
    }
}

void Master::act(SendBatch const& action) {
    auto* const worker = find(action.worker);
    auto const found = jobs_.find(action.job);
    if (worker == nullptr || !worker->handle || found == jobs_.end()) return;
    auto& job = found->second;
    if (worker->knows.insert(action.job).second) {
        tell_to_forget(*worker);
        tell_function(*worker, job);
        job.told.push_back(action.worker);
    }
    auto const arguments = job.arguments(action.first, action.count);
    TasksHead head{.job = action.job,
                   .batch = action.batch,
                   .first = action.first,
                   .count = action.count,
                   .attempt = action.attempt,
                   .transfer = 0};
    if (arguments.size <= large && arguments.parts.size() == 1) {
        worker->handle->send(Kind::tasks, {bytes_of(head), arguments.parts.front()});
    } else if (arguments.size <= large) {
        Writer whole;
        for (auto const part : arguments.parts) whole.write(part.data(), part.size());
        worker->handle->send(Kind::tasks, {bytes_of(head), whole.bytes()});
    } else if (arguments.parts.size() == 1) {
        head.transfer = next_transfer_++;
        worker->handle->transfer(head.transfer, arguments.parts.front(), arguments.keep.front());
        worker->handle->send(Kind::tasks, {bytes_of(head)});
    } else {
        auto const whole = std::make_shared<Writer>();
        for (auto const part : arguments.parts) whole->write(part.data(), part.size());
        head.transfer = next_transfer_++;
        worker->handle->transfer(head.transfer, whole->bytes(), whole);
        worker->handle->send(Kind::tasks, {bytes_of(head)});
    }
    if (from_user_) spoken_to_.push_back(worker);
}

void Master::act(Revoke const& action) {
    if (auto* const worker = find(action.worker); worker != nullptr && worker->handle) {
        BatchHead const head{action.batch};
        worker->handle->send(Kind::revoke, {bytes_of(head)});
        if (from_user_) spoken_to_.push_back(worker);
    }
}

void Master::act(AskToStop const& action) {
    if (auto* const worker = find(action.worker); worker != nullptr && worker->handle) {
        BatchHead const head{action.batch};
        worker->handle->send(Kind::stop_task, {bytes_of(head)});
        if (from_user_) spoken_to_.push_back(worker);
    }
}

// Delivers the results of the message that arrived: runs of values between the tasks that threw.
void Master::act(Accept const& action, Arrived& arrived) {
    auto& job = jobs_.at(action.job);
    auto const end = action.first + action.count;
    auto first = action.first;
    std::exception_ptr undecodable;  // set: the following values cannot be found
    auto const give = [&](std::uint64_t until) {
        if (until == first) return;
        if (undecodable)
            for (auto index = first; index < until; ++index) job.sink().failed(index, undecodable);
        else
            undecodable = job.sink().results(first, static_cast<std::uint32_t>(until - first),
                                             arrived.values);
        job.ended(first, until - first);
    };
    try {
        for (auto const& [index, error] : arrived.errors) {
            if (index < first || index >= end) continue;
            give(index);
            first = index + 1;
        }
        give(end);
    } catch (...) {  // out of memory: the other tasks fail
        auto const error = std::current_exception();
        for (; first < end; ++first) job.sink().failed(first, error);
        throw;
    }
}

std::exception_ptr Master::error_of(JobRecord const& job, Fail const& action,
                                    Arrived const* arrived) {
    if (action.reason == Fail::Reason::thrown && arrived != nullptr)
        for (auto const& [index, error] : arrived->errors)
            if (index == action.index) return detail::revive(error);
    ErrorRecord record;
    record.type = "sinew::WorkerDied";
    record.function = detail::task_name(*job.spec().function);
    record.task = action.index;
    record.attempt = action.attempts;
    record.what =
        action.reason == Fail::Reason::maybe_executed
            ? text("the worker died (", action.why,
                   ") when the task may have begun, and TaskOptions::at_most_once was set")
            : text("the worker died: ", action.why);
    auto const cause =
        action.reason == Fail::Reason::memory    ? sinew::WorkerDied::Cause::out_of_memory
        : action.reason == Fail::Reason::timeout ? sinew::WorkerDied::Cause::time_limit
                                                 : sinew::WorkerDied::Cause::crash;
    return std::make_exception_ptr(
        sinew::WorkerDied(std::move(record), cause, action.reason == Fail::Reason::maybe_executed));
}

void Master::act(Fail const& action, Arrived const* arrived) {
    auto& job = jobs_.at(action.job);
    job.sink().failed(action.index, error_of(job, action, arrived));
    job.ended(action.index, 1);
    log("task_failed", {{"job", action.job},
                        {"function", detail::task_name(*job.spec().function)},
                        {"task", action.index},
                        {"attempts", std::uint64_t{action.attempts}},
                        {"why", action.why}});
}

void Master::act(Drop const& action) {
    auto& job = jobs_.at(action.job);
    if (broken_.empty()) {
        job.sink().dropped(action.first, action.count);
    } else {
        auto const error = std::make_exception_ptr(PoolBroken(broken_));
        for (std::uint64_t i = 0; i < action.count; ++i) job.sink().failed(action.first + i, error);
    }
    job.ended(action.first, action.count);
}

void Master::act(JobEnded const& action) {
    auto const found = jobs_.find(action.job);
    if (found == jobs_.end()) return;
    log("job_ended", {{"job", action.job},
                      {"function", detail::task_name(*found->second.spec().function)},
                      {"tasks", found->second.count()}});
    auto& job = over_.emplace_back(std::move(found->second));
    jobs_.erase(found);
    auto const told = std::move(job.told);
    bool const has_state = !job.spec().state.bytes().empty();
    job.sink().ended();
    for (auto const id : told) {
        auto* const worker = find(id);
        if (worker == nullptr || !worker->handle) continue;
        worker->knows.erase(action.job);
        worker->over.push_back(action.job);
        // A job without state occupies little memory, so no message wakes the worker for it.
        if (has_state || worker->over.size() >= many_over) tell_to_forget(*worker);
    }
    if (jobs_.empty()) show_progress();
}

void Master::act(KillWorker const& action) {
    auto* const worker = find(action.worker);
    if (worker == nullptr) return;
    worker->killed = true;
    log("worker_killed", {{"slot", std::uint64_t{action.worker.slot}}, {"why", action.why}});
    if (worker->handle) worker->handle->kill();
}

void Master::act(ReleaseWorker const& action) {
    auto* const worker = find(action.worker);
    if (worker == nullptr) return;
    worker->released = true;
    if (!worker->handle) return act(KillWorker{action.worker, "it is not needed"});
    worker->handle->send(Kind::release, {});
    if (from_user_) spoken_to_.push_back(worker);
}

void Master::act(Fenced const& action) {
    if (auto* const worker = find(action.worker); worker != nullptr && worker->handle)
        worker->handle->send(Kind::fenced, {});
}

void Master::act(Broken const& action) {
    log("broken", {{"why", action.why}});
    notify(changed_);
}

void Master::act(Retried const& action) {
    auto const found = jobs_.find(action.job);
    auto const name = found == jobs_.end() ? "" : detail::task_name(*found->second.spec().function);
    log("task_retried", {{"job", action.job},
                         {"function", name},
                         {"task", action.index},
                         {"attempt", std::uint64_t{action.attempts}},
                         {"why", action.why}});
    if (std::exchange(warned_, true)) return;
    log_warning(text("pool: ", name, ", task ", action.index, " is executed again (", action.why,
                     "). Set TaskOptions::at_most_once for tasks that must not be. Further ones "
                     "are counted in stats()"));
}

void Master::act(Ended const&) {
    ended_ = true;
    log("ended", {});
    notify(changed_);
}

void Master::log(std::string const& what, std::initializer_list<EventLog::Field> fields) {
    if (events_.on()) events_.write(what, fields);
}

}  // namespace sinew::pool
