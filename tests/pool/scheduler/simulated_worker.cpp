// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "src/base/text.hpp"
#include "tests/pool/scheduler/simulated_pool.hpp"

namespace sinew::pool {

void World::start(WorldWorker& one) {
    if (calm_ || chance(0.3)) {
        one.up = true;
        one.outbox.emplace_back(WorkerReady{one.id});
    } else if (chance(0.02)) {
        auto const id = one.id;
        std::erase_if(workers_, [&](WorldWorker const& w) { return w.id == id; });
        tell(StartFailed{id, "no more processes"});
    }
}

bool World::live(WorldWorker& one) {
    if (one.doomed) {
        die(one, Cause::planned);
        return true;
    }
    if (deliver(one)) return true;
    if (!one.up) {
        start(one);
        return true;
    }
    if (one.frozen) return false;
    if (chance(0.3) && receive(one)) return true;
    if (chance(0.3) && report(one)) return true;
    if (calm_ || chance(0.7)) return execute(one) || report(one) || receive(one);
    return false;
}

/// Delivers one frame to the master.
bool World::deliver(WorldWorker& one) {
    if (one.outbox.empty() || (!calm_ && chance(0.5))) return false;
    auto const event = one.outbox.front();
    one.outbox.pop_front();
    // A result that the master does not understand: it kills the worker, but later frames may still
    // arrive.
    if (!calm_ && std::holds_alternative<Results>(event) && chance(0.01)) one.doomed = true;
    else tell(event);
    return true;
}

bool World::receive(WorldWorker& one) {
    if (one.inbox.empty()) return false;
    auto const command = one.inbox.front();
    one.inbox.pop_front();
    if (auto const* sent = std::get_if<SendBatch>(&command)) {
        auto& batch = one.batches.emplace_back();
        batch.sent = *sent;
        batch.limit = sent->count;
        return true;
    }
    if (std::holds_alternative<ReleaseWorker>(command)) {
        if (!one.batches.empty()) throw std::logic_error("a busy worker is released");
        die(one, Cause::planned);
        return true;
    }
    auto const* const revoke = std::get_if<Revoke>(&command);
    auto const id = revoke != nullptr ? revoke->batch : std::get<AskToStop>(command).batch;
    auto const found = std::find_if(one.batches.begin(), one.batches.end(),
                                    [&](WorldBatch const& b) { return b.sent.batch == id; });
    if (found == one.batches.end()) {
        // The batch ended before the request arrived. The worker may answer or not.
        if (revoke != nullptr && chance(0.5)) one.outbox.emplace_back(Revoked{one.id, id, 0});
        return true;
    }
    if (revoke == nullptr) {
        found->asked_to_stop = true;
        return true;
    }
    return give_back(one, found);
}

/// Gives back the tasks that have not begun, whether requested or not.
bool World::give_back(WorldWorker& one, std::deque<WorldBatch>::iterator batch) {
    bool const first = batch == one.batches.begin();
    batch->limit = batch->next + (first && one.running ? 1 : 0);
    one.outbox.emplace_back(Revoked{one.id, batch->sent.batch, batch->limit});
    if (batch->reported == batch->limit) one.batches.erase(batch);
    return true;
}

/// Begins a task, or ends the current one. A batch is removed when all of it is reported.
bool World::execute(WorldWorker& one) {
    auto const found = std::find_if(one.batches.begin(), one.batches.end(),
                                    [](WorldBatch const& b) { return b.next < b.limit; });
    if (found == one.batches.end()) return false;
    if (found != one.batches.begin()) {
        report(one);
        return true;
    }
    if (!calm_ && chance(0.01)) return give_back(one, found);
    if (one.running) return finish_task(one, *found);
    auto const index = found->sent.first + found->next;
    auto& truth = ledger_.task(found->sent.job, index);
    bool const once = ledger_.jobs().at(found->sent.job).options.at_most_once;
    if (++truth.begun > 1 && once)
        throw std::logic_error(text("task ", index, " is at most once, and begins again"));
    one.running = true;
    return true;
}

bool World::report(WorldWorker& one) {
    if (one.batches.empty()) return false;
    auto& batch = one.batches.front();
    if (batch.next == batch.reported) return false;
    one.outbox.emplace_back(Results{one.id, batch.sent.batch, batch.reported, batch.next,
                                    std::chrono::microseconds(below(1000)),
                                    std::exchange(batch.thrown, {})});
    batch.reported = batch.next;
    if (batch.reported == batch.limit) one.batches.pop_front();
    return true;
}

/// The process has certainly ended. Frames that it has sent may arrive later, and no longer count;
/// its last frames may also have arrived before the report.
void World::die(WorldWorker& one, WorkerDied::Cause cause) {
    WorkerDied news{one.id, cause, chance(0.75), {}, "killed by signal 9"};
    if (one.running && news.status_known)
        news.running = Running{one.batches.front().sent.batch, one.batches.front().next};
    auto ghost = std::move(one);
    std::erase_if(workers_, [&](WorldWorker const& w) { return w.id == news.worker; });
    while (!ghost.outbox.empty() && chance(0.5)) {
        auto const event = ghost.outbox.front();
        ghost.outbox.pop_front();
        tell(event);
    }
    tell(news);
    if (!ghost.outbox.empty()) ghosts_.push_back(std::move(ghost));
    if (ghosts_.size() > 8) ghosts_.pop_front();
}

/// Delivers a frame of an earlier worker, or a frame twice.
void World::resurrect() {
    if (ghosts_.empty()) return;
    auto& outbox = ghosts_[below(ghosts_.size())].outbox;
    auto const event = outbox.front();
    if (outbox.size() > 1 && chance(0.5)) outbox.pop_front();
    auto const stale = scheduler_.stats().stale;
    tell(event);
    if (scheduler_.stats().stale != stale + 1) throw std::logic_error("a dead worker was heard");
    auto const fenced = std::count_if(actions_.begin(), actions_.end(), [](Action const& a) {
        return std::holds_alternative<Fenced>(a);
    });
    if (fenced != 1) throw std::logic_error("a dead worker was not fenced");
}

void World::misfortune(WorldWorker& one) {
    if (!one.up || one.doomed) return;
    switch (below(6)) {
        case 0:
            return die(one, one.running && chance(0.3) ? Cause::timeout : Cause::crash);
        case 1:
            return die(one, chance(0.5) ? Cause::lost : Cause::memory);
        case 2:
            return die(one, Cause::planned);
        case 3:
            one.outbox.emplace_back(WorkerRecycled{one.id});
            return;
        default:
            break;
    }
    one.frozen = !one.frozen;
    one.frozen ? tell(WorkerSuspect{one.id}) : tell(WorkerAlive{one.id});
}

}  // namespace sinew::pool
