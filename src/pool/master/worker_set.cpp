// SPDX-License-Identifier: Apache-2.0
#include "src/pool/master/worker_set.hpp"

#include <algorithm>
#include <sinew/error.hpp>
#include <sinew/remote_error.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::pool {
namespace {

// Delay of a process start if an idle worker has just got work: on few cores, that worker would
// otherwise wait 14 ms for the start.
constexpr auto head_start = std::chrono::milliseconds(10);
constexpr auto retry_pause = std::chrono::milliseconds(50);
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

WorkerSet::WorkerSet(process::Runtime& runtime, PoolOptions const& options,
                     WorkerPlacement& placement, Scheduler const& scheduler, Jobs const& jobs,
                     EventLog& events, Callbacks callbacks)
    : runtime_(runtime), options_(options), placement_(placement), scheduler_(scheduler),
      jobs_(jobs), events_(events), callbacks_(std::move(callbacks)) {}

WorkerRecord* WorkerSet::find(WorkerId id) {
    auto const found = workers_.find(key_of(id));
    return found == workers_.end() ? nullptr : found->second.get();
}

// On the loop's thread: a child's parent-death signal is bound to the thread that starts it.
void WorkerSet::start(WorkerId id, Meta const& meta, bool later, std::weak_ptr<void const> owner) {
    auto worker = std::make_unique<WorkerRecord>();
    worker->id = id;
    auto const start = [this, owner = std::move(owner), id, meta] {
        if (auto const alive = owner.lock()) this->start(id, meta);
    };
    if (later) worker->patience = runtime_.loop().after(head_start, start);
    else runtime_.loop().post(start);
    workers_.emplace(key_of(id), std::move(worker));
}

void WorkerSet::start(WorkerId id, Meta const& meta) {
    auto* const worker = find(id);
    if (worker == nullptr) return;
    if (worker->killed) {  // before it was started
        workers_.erase(key_of(id));
        return callbacks_.event(WorkerDied{id, WorkerDied::Cause::planned, true, std::nullopt, ""},
                                nullptr);
    }
    WorkerStart start;
    start.program = detail::program_identity().text;
    if (auto const* entry = options_.initializer.entry()) {
        start.initializer = detail::id_of(*entry).value;
        start.initializer_arguments = options_.initializer.arguments();
    }
    start.max_rss_bytes = options_.max_rss_per_worker;
    start.meta = meta;
    try {
        worker->handle = placement_.start(id.slot, start);
    } catch (NoPlace const&) {
        worker->patience = runtime_.loop().after(retry_pause, [this, id] { none_yet(id); });
        return;
    } catch (std::exception const& problem) {  // includes std::system_error of std::thread
        workers_.erase(key_of(id));
        return callbacks_.event(StartFailed{id, problem.what()}, nullptr);
    }
    events_.write("worker_started",
                  {{"slot", std::uint64_t{id.slot}}, {"who", worker->handle->name()}});
    worker->handle->on({.message = [this, id](Kind kind, auto body) { on_message(id, kind, body); },
                        .liveness = [this, id](bool suspect) { on_liveness(id, suspect); },
                        .ended = [this, id](WorkerEnd const& end) { on_ended(id, end); }});
}

// A worker that was not wanted any more meanwhile is killed. The scheduler replaces it if there is a
// node, or asks again.
void WorkerSet::none_yet(WorkerId id) {
    if (find(id) == nullptr) return;
    workers_.erase(key_of(id));
    callbacks_.event(WorkerDied{id, WorkerDied::Cause::planned, true, std::nullopt, ""}, nullptr);
    callbacks_.changed();
}

void WorkerSet::on_message(WorkerId id, Kind kind, std::span<std::byte const> body) {
    auto* const worker = find(id);
    if (worker == nullptr || worker->misunderstood) return;
    try {
        switch (kind) {
            case Kind::ready:
                return on_ready(*worker);
            case Kind::refused:
                worker->killed = true;  // it ends by itself, too
                worker->handle->kill();
                return callbacks_.event(
                    StartFailed{
                        id, std::string(reinterpret_cast<char const*>(body.data()), body.size())},
                    nullptr);
            case Kind::results:
                return on_results(*worker, body);
            case Kind::revoked:
                return on_revoked(*worker, body);
            case Kind::recycled:
                return callbacks_.event(WorkerRecycled{id}, nullptr);
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

void WorkerSet::on_ready(WorkerRecord& worker) {
    if (std::exchange(worker.ready, true)) throw ProtocolError("ready twice");
    events_.write("worker_ready",
                  {{"slot", std::uint64_t{worker.id.slot}}, {"who", worker.handle->name()}});
    callbacks_.event(WorkerReady{worker.id}, nullptr);
    callbacks_.changed();
}

void WorkerSet::on_results(WorkerRecord& worker, std::span<std::byte const> body) {
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
        return callbacks_.event(event, nullptr);
    }
    if (head.done > batch->count || head.from > head.done)
        throw ProtocolError(text("results up to ", head.done, " of a batch of ", batch->count));
    auto const& job = jobs_.find(batch->job);
    ArrivedResults arrived{.errors = {}, .values = Reader({})};
    for (std::uint32_t i = 0; i < head.thrown; ++i) {
        auto const offset = take_head<std::uint32_t>(reader);
        auto error = ErrorRecord::decode_from(reader);
        if (job != jobs_.end()) event.thrown.push_back(job->second.thrown(offset, error));
        arrived.errors.emplace_back(batch->first + offset, std::move(error));
    }
    arrived.values = reader;
    busy_ += std::clamp(event.busy, Duration::zero(), Duration::max() - busy_);  // untrusted
    callbacks_.event(event, &arrived);                                           // does not throw
}

void WorkerSet::on_revoked(WorkerRecord& worker, std::span<std::byte const> body) {
    Reader reader(body);
    auto const head = take_head<RevokedHead>(reader);
    if (auto const batch = scheduler_.batch(worker.id, head.batch);
        batch && head.kept > batch->count)
        throw ProtocolError(text("keeps ", head.kept, " of a batch of ", batch->count));
    callbacks_.event(Revoked{worker.id, head.batch, head.kept}, nullptr);
}

// A suspect worker gets no new work, and is killed if it does not recover. Its task is blamed,
// since a task can stop its process, and would do so again.
void WorkerSet::on_liveness(WorkerId id, bool suspect) {
    auto* const worker = find(id);
    if (worker == nullptr) return;
    if (!suspect) {
        worker->patience = {};
        return callbacks_.event(WorkerAlive{id}, nullptr);
    }
    worker->patience = runtime_.loop().after(patience_with_frozen, [this, id] {
        if (auto* const still = find(id)) {
            still->frozen = true;
            still->handle->kill();
        }
    });
    callbacks_.event(WorkerSuspect{id}, nullptr);
}

void WorkerSet::on_ended(WorkerId id, WorkerEnd const& end) {
    auto* const worker = find(id);
    if (worker == nullptr) return;
    auto died = worker->death(end, scheduler_);
    events_.write("worker_ended", {{"slot", std::uint64_t{id.slot}}, {"why", died.why}});
    // The loss of a node is not the fault of what was being started there.
    bool const with_node = end.process.lost || end.process.withdrawn;
    bool const failed_start = !worker->ready && !worker->killed && !with_node;
    if (!worker->ready && with_node) died.cause = WorkerDied::Cause::planned;
    // Destroyed later, because the handle itself has called this function.
    runtime_.loop().post([gone = std::shared_ptr<WorkerHandle>(std::move(worker->handle))] {});
    workers_.erase(key_of(id));
    if (failed_start) callbacks_.event(StartFailed{id, died.why}, nullptr);
    else callbacks_.event(died, nullptr);
    callbacks_.changed();
}

}  // namespace sinew::pool
