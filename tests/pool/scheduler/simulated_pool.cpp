// SPDX-License-Identifier: Apache-2.0
#include "tests/pool/scheduler/simulated_pool.hpp"

#include <algorithm>
#include <stdexcept>

#include "src/base/text.hpp"

namespace sinew::pool {

namespace {

using namespace std::chrono_literals;

SchedulerSettings settings(std::mt19937_64& dice) {
    SchedulerSettings made;
    made.max_workers = 1 + static_cast<std::uint32_t>(dice() % 5);
    made.min_workers = dice() % 2 == 0 ? made.max_workers : 0;
    made.in_flight = 1 + static_cast<std::uint32_t>(dice() % 3);
    made.max_tasks_per_worker = dice() % 4 == 0 ? 1 + dice() % 20 : 0;
    made.failing_starts = 6;
    made.start_timeout = 5s;
    made.idle_grace = 1s;
    made.cancel_grace = 100ms;
    return made;
}

// The index determines the kind of task.
bool throws(std::uint64_t index) { return index % 23 == 5; }
bool is_poison(std::uint64_t index) { return index % 61 == 17; }
bool is_stubborn(std::uint64_t index) { return index % 31 == 11; }
bool works_at_second_try(std::uint64_t index) { return index % 46 == 5; }

}  // namespace

World::World(std::uint64_t seed) : dice_(seed), scheduler_(settings(dice_)) {}

bool World::chance(double probability) {
    return static_cast<double>(dice_() >> 11) * 0x1p-53 < probability;
}
std::uint64_t World::below(std::uint64_t limit) { return dice_() % limit; }

void World::tell(Event const& event) {
    ledger_.happens(event);
    actions_.clear();
    scheduler_.step(event, now_, actions_);
    scheduler_.check_invariants();
    ledger_.judge(event, actions_);
    auto const actions = actions_;
    for (auto const& action : actions) obey(action);
}

WorldWorker* World::worker(WorkerId id) {
    auto const found = std::find_if(workers_.begin(), workers_.end(),
                                    [&](WorldWorker const& w) { return w.id == id; });
    return found == workers_.end() ? nullptr : &*found;
}

void World::obey(Action const& action) {
    if (auto const* start = std::get_if<StartWorker>(&action)) {
        workers_.emplace_back().id = start->worker;
    } else if (auto const* send = std::get_if<SendBatch>(&action)) {
        post(send->worker, *send);
    } else if (auto const* revoke = std::get_if<Revoke>(&action)) {
        post(revoke->worker, *revoke);
    } else if (auto const* stop = std::get_if<AskToStop>(&action)) {
        post(stop->worker, *stop);
    } else if (auto const* release = std::get_if<ReleaseWorker>(&action)) {
        post(release->worker, *release);
    } else if (auto const* kill = std::get_if<KillWorker>(&action)) {
        if (auto* const one = worker(kill->worker)) one->doomed = true;
    }
}

/// Dropped if the worker has died and the scheduler does not know yet.
void World::post(WorkerId id, Command const& command) {
    if (auto* const one = worker(id)) one->inbox.push_back(command);
}

void World::submit() {
    JobOptions options;
    options.function = below(3);
    options.retries = static_cast<std::uint32_t>(below(4));
    options.at_most_once = chance(0.25);
    options.stop_at_failure = chance(0.3);
    options.chunk = chance(0.2) ? 1 + static_cast<std::uint32_t>(below(9)) : 0;
    options.bytes_each = chance(0.2) ? 100000 : 0;
    auto const count = chance(0.4) ? 1 : below(120);
    tell(JobSubmitted{next_job_++, count, options, chance(0.8)});
}

void World::grow() {
    for (auto const& [id, job] : ledger_.jobs()) {
        if (job.complete) continue;
        tell(JobGrows{id, below(30), calm_ || chance(0.3)});
        return;
    }
}

void World::use() {
    if (next_job_ < 12 && chance(0.5)) return submit();
    if (chance(0.5)) return grow();
    if (chance(0.3) && next_job_ > 1) {
        auto const id = 1 + below(next_job_ - 1);
        if (!ledger_.jobs().at(id).ended) tell(JobCancelled{id});
    } else if (chance(0.3)) {
        auto const most = 1 + static_cast<std::uint32_t>(below(6));
        tell(Resize{chance(0.5) ? most : 0, most});
    }
}

void World::chaos(int moves) {
    submit();
    while (moves-- > 0) {
        now_ += std::chrono::nanoseconds(below(200'000));
        if (chance(0.01) && scheduler_.due() != Time::max())
            now_ = std::max(now_, scheduler_.due());
        if (chance(0.02)) tell(Tick{});
        if (chance(0.03)) use();
        if (chance(0.02)) resurrect();
        if (workers_.empty()) continue;
        auto& one = workers_[below(workers_.size())];
        chance(0.01) ? misfortune(one) : static_cast<void>(live(one));
    }
}

void World::calm() {
    calm_ = true;
    while (std::any_of(ledger_.jobs().begin(), ledger_.jobs().end(),
                       [](auto const& job) { return !job.second.complete; }))
        grow();
    chance(0.1) ? tell(Terminate{}) : tell(Close{});
    for (int round = 0; round < 100'000; ++round) {
        if (ledger_.over()) return;
        if (sweep()) continue;
        if (scheduler_.due() == Time::max()) throw std::logic_error("nothing happens any more");
        now_ = std::max(now_ + 1us, scheduler_.due());
        tell(Tick{});
    }
    throw std::logic_error("it does not come to an end");
}

/// Lets every participant make one step; returns false if there was nothing to do.
bool World::sweep() {
    bool moved = false;
    for (std::size_t i = 0; i < workers_.size() && !ledger_.over(); ++i) {
        auto& one = workers_[i];
        if (std::exchange(one.frozen, false)) tell(WorkerAlive{one.id});
        auto const count = workers_.size();
        moved = live(workers_[i]) || moved;
        if (workers_.size() < count) break;
    }
    return moved;
}

namespace {

bool throws_now(SendBatch const& sent, std::uint64_t index, bool& again) {
    again = works_at_second_try(index) && sent.attempt == 1;
    return throws(index) && (again || !works_at_second_try(index));
}

}  // namespace

/// Returns false if the task continues.
bool World::finish_task(WorldWorker& one, WorldBatch& batch) {
    auto const index = batch.sent.first + batch.next;
    auto& truth = ledger_.task(batch.sent.job, index);
    bool const once = ledger_.jobs().at(batch.sent.job).options.at_most_once;
    if (is_poison(index)) {
        die(one, chance(0.3) ? Cause::memory : Cause::crash);
        return true;
    }
    if (is_stubborn(index)) {
        if (!calm_ && chance(0.8)) return false;
        bool const cancelled = ledger_.jobs().at(batch.sent.job).cancelled;
        if (cancelled && (!batch.asked_to_stop || index % 2 == 0))
            return false;  // it must be killed
    }
    bool again = false;
    if (throws_now(batch.sent, index, again)) {
        ++truth.threw;
        again = again && !once;
        batch.thrown.push_back({batch.next, again, chance(0.5) ? 10ms : 0ms});
    }
    one.running = false;
    ++batch.next;
    return true;
}

}  // namespace sinew::pool
