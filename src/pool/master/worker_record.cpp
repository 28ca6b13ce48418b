// SPDX-License-Identifier: Apache-2.0
#include "src/pool/master/worker_record.hpp"

#include <memory>
#include <utility>

#include "src/base/bytes.hpp"
#include "src/base/text.hpp"

namespace sinew::pool {

void WorkerRecord::tell_function(JobRecord const& job) {
    auto const& spec = job.spec();
    FunctionHead const head{
        .job = spec.job,
        .task_id = detail::id_of(*spec.function).value,
        .soft_limit_ns = static_cast<std::uint64_t>(spec.options.soft_limit.count()),
        .hard_limit_ns = static_cast<std::uint64_t>(spec.options.hard_limit.count())};
    handle->send(Kind::function, {bytes_of(head), spec.state.bytes()});
}

void WorkerRecord::tell_to_forget() {
    for (auto const job : std::exchange(over, {})) {
        JobHead const head{job};
        handle->send(Kind::forget, {bytes_of(head)});
    }
}

void WorkerRecord::send(SendBatch const& action, JobRecord& job) {
    if (knows.insert(action.job).second) {
        tell_to_forget();
        tell_function(job);
        job.told.push_back(id);
    }
    auto const arguments = job.arguments(action.first, action.count);
    TasksHead head{.job = action.job,
                   .batch = action.batch,
                   .first = action.first,
                   .count = action.count,
                   .attempt = action.attempt,
                   .transfer = 0};
    auto bytes = arguments.parts.front();
    auto keep = arguments.keep.front();
    if (arguments.parts.size() > 1) {
        auto const whole = std::make_shared<Writer>();
        for (auto const part : arguments.parts) whole->write(part.data(), part.size());
        bytes = whole->bytes();
        keep = whole;
    }
    if (arguments.size <= large) return handle->send(Kind::tasks, {bytes_of(head), bytes});
    head.transfer = ++transfers;
    handle->transfer(head.transfer, bytes, std::move(keep));
    handle->send(Kind::tasks, {bytes_of(head)});
}

WorkerDied WorkerRecord::death(WorkerEnd const& end, Scheduler const& scheduler) const {
    using Cause = WorkerDied::Cause;
    WorkerDied died{.worker = id,
                    .cause = Cause::crash,
                    .status_known = !end.process.lost,
                    .running = {},
                    .why = end.process.text()};
    if (end.process.out_of_memory || end.verdict == Verdict::memory_limit)
        died.cause = Cause::memory;
    else if (end.verdict == Verdict::hard_limit) died.cause = Cause::timeout;
    else if (end.process.lost) died.cause = Cause::lost;
    else if (killed || released || end.process.withdrawn || end.verdict == Verdict::lease_over)
        died.cause = Cause::planned;
    if (end.process.out_of_memory) died.why += ", out of memory";
    if (end.verdict == Verdict::memory_limit)
        died.why = "it used more memory than max_rss_per_worker";
    if (end.verdict == Verdict::hard_limit) died.why = "it exceeded the hard time limit";
    if (frozen) died.why = "it did not respond for some seconds, and was killed";
    if (handle) died.why = text(handle->name(), ": ", died.why);
    if (!end.process.log.empty() && died.cause != Cause::planned)
        died.why += text("; last lines of its standard error:\n", end.process.log);
    if (end.running == nothing_running) return died;
    // The status word has the lower half of the batch's number.
    for (auto const& batch : scheduler.batches(id))
        if (static_cast<std::uint32_t>(batch.id) == end.running >> 32)
            died.running = Running{batch.id, static_cast<std::uint32_t>(end.running)};
    return died;
}

}  // namespace sinew::pool
