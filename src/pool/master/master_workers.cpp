// SPDX-License-Identifier: Apache-2.0
// Handles the messages of workers, and their ends.
#include <algorithm>
#include <cstring>
#include <sinew/remote_error.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/pool/master/master.hpp"

namespace sinew::pool {
namespace {

constexpr auto patience_with_frozen = std::chrono::seconds(4);  // after it became suspect

/// Thrown if a worker violates the protocol.
class ProtocolError : public Error {
public:
    using Error::Error;
};

template <class Head>
Head take_head(Reader& reader) {
    Head head;
    reader.read(&head, sizeof head);
    return head;
}

}  // namespace

void Master::on_message(WorkerId id, Kind kind, std::span<std::byte const> body) {
    auto* const worker = find(id);
    if (worker == nullptr || worker->misunderstood) return;
    try {
        switch (kind) {
            case Kind::ready:
                return on_ready(*worker);
            case Kind::refused:
                worker->killed = true;  // it ends by itself, too
                worker->handle->kill();
                return step_in_turn(StartFailed{
                    id, std::string(reinterpret_cast<char const*>(body.data()), body.size())});
            case Kind::results:
                return on_results(*worker, body);
            case Kind::revoked:
                return on_revoked(*worker, body);
            case Kind::recycled:
                return step_in_turn(WorkerRecycled{id});
            default:
                throw ProtocolError(text("a message of kind ", int(kind)));
        }
    } catch (std::exception const& problem) {
        // Its tasks are not to blame, but the worker cannot continue.
        log_warning(text("pool: ", worker->handle->name(), " sent an invalid message (",
                         problem.what(), "); it is replaced"));
        worker->killed = worker->misunderstood = true;
        worker->handle->kill();
    }
}

void Master::on_ready(Worker& worker) {
    if (std::exchange(worker.ready, true)) throw ProtocolError("ready twice");
    log("worker_ready", {{"slot", std::uint64_t{worker.id.slot}}, {"who", worker.handle->name()}});
    step_in_turn(WorkerReady{worker.id});
    notify(changed_);
}

Thrown Master::thrown(JobRecord const& job, std::uint32_t offset, ErrorRecord const& error) const {
    auto const& retry = job.spec().options.retry_on;
    Thrown told{.offset = offset};
    if (retry.matches == nullptr || error.attempt > static_cast<std::uint32_t>(retry.times))
        return told;
    try {
        told.again = retry.matches(detail::revive(error));
    } catch (std::exception const& problem) {  // matches() is user code
        log_warning(text("pool: retry_on of ", detail::task_name(*job.spec().function), " threw (",
                         problem.what(), "); its task is not executed again"));
    }
    auto const factor = std::int64_t{1} << std::min(error.attempt - 1, 20U);
    told.backoff = std::min(retry.backoff, longest_backoff / factor) * factor;
    return told;
}

void Master::on_results(Worker& worker, std::span<std::byte const> body) {
    Reader reader(body);
    auto const head = take_head<ResultsHead>(reader);
    Results event{.worker = worker.id,
                  .batch = head.batch,
                  .from = head.from,
                  .done = head.done,
                  .busy = Duration(head.busy_ns),
                  .thrown = {}};
    auto const batch = scheduler_.batch(worker.id, head.batch);
    if (!batch) {
        event.from = event.done = 0;  // nothing can be accepted
        return step_in_turn(event);
    }
    if (head.done > batch->count || head.from > head.done)
        throw ProtocolError(text("results up to ", head.done, " of a batch of ", batch->count));
    auto const& job = jobs_.find(batch->job);
    Arrived arrived{.errors = {}, .values = Reader({})};
    for (std::uint32_t i = 0; i < head.thrown; ++i) {
        auto const offset = take_head<std::uint32_t>(reader);
        auto error = ErrorRecord::decode_from(reader);
        if (job != jobs_.end()) event.thrown.push_back(thrown(job->second, offset, error));
        arrived.errors.emplace_back(batch->first + offset, std::move(error));
    }
    arrived.values = reader;
    busy_ += std::clamp(event.busy, Duration::zero(), Duration::max() - busy_);  // untrusted
    step_in_turn(event, &arrived);                                               // does not throw
}

void Master::on_revoked(Worker& worker, std::span<std::byte const> body) {
    Reader reader(body);
    auto const head = take_head<RevokedHead>(reader);
    if (auto const batch = scheduler_.batch(worker.id, head.batch);
        batch && head.kept > batch->count)
        throw ProtocolError(text("keeps ", head.kept, " of a batch of ", batch->count));
    step_in_turn(Revoked{worker.id, head.batch, head.kept});
}

WorkerDied Master::death_of(Worker const& worker, WorkerEnd const& end) const {
    using Cause = WorkerDied::Cause;
    WorkerDied died{.worker = worker.id,
                    .cause = Cause::crash,
                    .status_known = !end.process.lost,
                    .running = {},
                    .why = end.process.text()};
    if (end.process.out_of_memory || end.verdict == Verdict::memory_limit)
        died.cause = Cause::memory;
    else if (end.verdict == Verdict::hard_limit) died.cause = Cause::timeout;
    else if (end.process.lost) died.cause = Cause::lost;
    else if (worker.killed || worker.released || end.verdict == Verdict::lease_over)
        died.cause = Cause::planned;
    if (end.process.out_of_memory) died.why += ", out of memory";
    if (end.verdict == Verdict::memory_limit)
        died.why = "it used more memory than max_rss_per_worker";
    if (end.verdict == Verdict::hard_limit) died.why = "it exceeded the hard time limit";
    if (worker.frozen) died.why = "it did not respond for some seconds, and was killed";
    if (worker.handle) died.why = text(worker.handle->name(), ": ", died.why);
    if (!end.process.log.empty() && died.cause != Cause::planned)
        died.why += text("; last lines of its standard error:\n", end.process.log);
    if (end.running == nothing_running) return died;
    // The status word has the lower half of the batch's number.
    for (auto const& batch : scheduler_.batches(worker.id))
        if (static_cast<std::uint32_t>(batch.id) == end.running >> 32)
            died.running = Running{batch.id, static_cast<std::uint32_t>(end.running)};
    return died;
}

// A suspect worker gets no new work, and is killed if it does not recover. Its task is blamed,
// since a task can stop its process, and would do so again.
void Master::on_liveness(WorkerId id, bool suspect) {
    auto* const worker = find(id);
    if (worker == nullptr) return;
    if (!suspect) {
        worker->patience = {};
        return step_in_turn(WorkerAlive{id});
    }
    worker->patience = runtime_.loop().after(patience_with_frozen, [this, id] {
        if (auto* const still = find(id)) {
            still->frozen = true;
            still->handle->kill();
        }
    });
    step_in_turn(WorkerSuspect{id});
}

void Master::on_ended(WorkerId id, WorkerEnd const& end) {
    auto* const worker = find(id);
    if (worker == nullptr) return;
    auto const died = death_of(*worker, end);
    log("worker_ended", {{"slot", std::uint64_t{id.slot}}, {"why", died.why}});
    bool const failed_start = !worker->ready && !worker->killed;
    // Destroyed later, because the handle itself has called this function.
    runtime_.loop().post([gone = std::shared_ptr<WorkerHandle>(std::move(worker->handle))] {});
    workers_.erase(key_of(id));
    if (failed_start) step_in_turn(StartFailed{id, died.why});
    else step_in_turn(died);
    notify(changed_);
}

}  // namespace sinew::pool
