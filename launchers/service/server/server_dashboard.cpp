// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/server/server_dashboard.hpp"

#include <algorithm>
#include <charconv>
#include <sinew/error.hpp>
#include <string>
#include <tuple>
#include <utility>

#include "launchers/common/host_name.hpp"
#include "src/base/gpus/gpus.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/wire/hello.hpp"

namespace sinew::launch::service {
namespace {

using namespace std::chrono_literals;
using dashboard::Level;
using std::chrono::system_clock;

constexpr auto between_updates = 500ms;
/// Of one event about refused connections, so that these do not push all others out.
constexpr auto between_refusal_events = 10s;
constexpr std::size_t most_jobs_shown = 200;
constexpr std::size_t most_ended_shown = 20;
constexpr std::size_t most_other_leases_shown = 20;
constexpr char outside[] = "another lease";

dashboard::QueuedJob shown(StoredJob const& job) {
    return {.id = text(job.id),
            .name = job.request.name,
            .owner = wire::printable(job.owner),
            .state = std::string(to_text(job.state)),
            .priority = job.request.priority,
            .gpus = job.request.needs.gpus,
            .processors = job.request.needs.cpus,
            .gpus_held = job.state == JobState::running ? job.gpus : "",
            .submitted = job.submitted,
            .started = job.started,
            .ended = job.ended,
            .exit_code = job.exit_code,
            .cause = wire::printable(job.cause)};
}

std::string title_of(StoredJob const& job) {
    return text("Job ", job.id, " (", job.request.name, ")");
}

std::string counted(std::size_t count, char const* one) {
    return text(count, ' ', one, count == 1 ? "" : "s");
}

std::string describe(Resources const& needs) {
    std::string words;
    auto const add = [&](std::string const& part) { words += (words.empty() ? "" : ", ") + part; };
    if (needs.gpus > 0) add(counted(static_cast<std::size_t>(needs.gpus), "GPU"));
    if (needs.cpus > 0) add(counted(static_cast<std::size_t>(needs.cpus), "processor"));
    if (needs.memory > 0) add(text((needs.memory + (1 << 20) - 1) >> 20, " MiB of memory"));
    return words;
}

}  // namespace

ServerDashboard::ServerDashboard(wire::Loop& loop, dashboard::Settings const& settings,
                                 JobQueue const& queue, Store& store)
    : queue_(queue), store_(store), host_(host_name()), dashboard_(settings), gpu_watch_(host_) {
    if (!gpu_watch_.problem().empty())
        event(Level::warning,
              text("Leases of other programs are not seen: ", gpu_watch_.problem()));
    for (auto const& job : store_.finished(static_cast<int>(most_ended_shown)))
        ended_.push_back(shown(job));
    std::ranges::sort(ended_, std::ranges::greater{}, &dashboard::QueuedJob::ended);
    server_.is_server = true;
    server_.backend = "serve";
    server_.state = "starting";
    server_.host = host_;
    server_.started = system_clock::now();
    updating_ = loop.every(between_updates, [this] { update(); });
}

void ServerDashboard::begin(std::string const& name, std::string const& address) {
    server_.name = name;
    server_.id = address;
    server_.command = "sinew serve --address " + address;
    server_.state = "running";
    dashboard_.state().set(server_);
    for (auto const& [id, job] : queue_.jobs()) {
        told_[id] = {.state = job->stored.state, .cancelled = !job->stored.cancelled_by.empty()};
        if (job->stored.state == JobState::running)
            output_.add(id, job->stored.request.name, job->files);
    }
    begun_ = true;
    auto const jobs = queue_.jobs().size();
    if (jobs > 0)
        event(Level::info,
              text("The server has started again, with ", counted(jobs, "job"), " of before"));
    else event(Level::info, "The server has started");
    update();
}

void ServerDashboard::event(Level level, std::string text) {
    dashboard_.state().add_event(level, std::move(text), system_clock::now());
}

void ServerDashboard::job_changed(std::int64_t id) {
    changed_ = true;
    auto const* const job = queue_.find(id);
    if (job == nullptr) return tell_end(id);
    if (!begun_) return;
    auto const& stored = job->stored;
    Told const now{.state = stored.state, .cancelled = !stored.cancelled_by.empty()};
    auto const [at, is_new] = told_.try_emplace(id, now);
    auto const before = std::exchange(at->second, now);
    if (is_new)
        event(Level::info,
              text(title_of(stored), " was submitted by ", wire::printable(stored.owner)));
    if (now.state == JobState::running && (is_new || before.state != JobState::running)) {
        output_.add(id, stored.request.name, job->files);
        event(Level::info, text(title_of(stored), " has started",
                                stored.gpus.empty() ? "" : " on GPU " + stored.gpus));
    }
    if (now.state == JobState::waiting && before.state == JobState::starting)
        event(Level::warning, text(title_of(stored), " waits again: its supervisor was killed"));
    if (now.cancelled && !before.cancelled)
        event(Level::info,
              text(title_of(stored), " is cancelled by ", wire::printable(stored.cancelled_by)));
}

void ServerDashboard::tell_end(std::int64_t id) {
    output_.end(id);
    told_.erase(id);
    try {
        auto const job = store_.find(id);
        if (!job) return;
        bool const failed = job->state == JobState::failed || job->state == JobState::timeout;
        auto words = text(title_of(*job), " has ended: ", to_text(job->state));
        if (job->exit_code) words += text(", exit code ", *job->exit_code);
        if (!job->cause.empty()) words += text(" (", wire::printable(job->cause), ")");
        if (job->state == JobState::cancelled && !job->cancelled_by.empty())
            words += text(", by ", wire::printable(job->cancelled_by));
        event(failed ? Level::warning : Level::info, std::move(words));
        ended_.push_front(shown(*job));
        if (ended_.size() > most_ended_shown) ended_.pop_back();
    } catch (Error const& problem) {
        log_warning(text("the end of job ", id, " is not on the dashboard: ", problem.what()));
    }
}

void ServerDashboard::refused(std::string const& peer, int count, std::string const& why) {
    refusals_.count += static_cast<std::size_t>(count);
    refusals_.last_peer = peer;
    refusals_.last_why = why;
}

void ServerDashboard::registry_changed(std::string const& problem) {
    if (problem.empty()) event(Level::info, "The registry knows this server again");
    else event(Level::warning, text("The registry does not know this server: ", problem));
    server_.cause = problem.empty() ? "" : text("the registry does not know it: ", problem);
    dashboard_.state().set(server_);
}

void ServerDashboard::tell_refusals() {
    auto const now = wire::Clock::now();
    if (refusals_.count == 0 || now - refusals_.told_at < between_refusal_events) return;
    event(Level::warning,
          text(counted(refusals_.count, "connection"), refusals_.count == 1 ? " was" : " were",
               " refused, the last one of ", wire::printable(refusals_.last_peer), ": ",
               wire::printable(refusals_.last_why)));
    refusals_ = {.count = 0, .last_peer = {}, .last_why = {}, .told_at = now};
}

void ServerDashboard::update() {
    bool const is_watched = dashboard_.is_watched();
    tell_refusals();
    if (std::exchange(changed_, false)) {
        publish_queue();
        collect_holders();
    }
    if (is_watched) gpu_watch_.ask_memory();
    publish_resources();
    output_.update(dashboard_.state(), is_watched, system_clock::now());
}

void ServerDashboard::publish_queue() {
    std::vector<StoredJob const*> all;
    dashboard::Queue queue;
    for (auto const& [id, job] : queue_.jobs()) {
        all.push_back(&job->stored);
        ++queue.counts[std::string(to_text(job->stored.state))];
    }
    // Those that run, the first one first, and then those that wait, in their order.
    auto const key = [](StoredJob const* job) {
        bool const waits = job->state == JobState::waiting;
        return std::tuple(waits, waits ? -job->request.priority : 0, job->id);
    };
    auto const count = std::min(all.size(), most_jobs_shown);
    std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(count), {}, key);
    for (std::size_t i = 0; i < count; ++i) queue.jobs.push_back(shown(*all[i]));
    queue.ended.assign(ended_.begin(), ended_.end());
    for (auto const state : {JobState::waiting, JobState::starting, JobState::running})
        queue.counts.try_emplace(std::string(to_text(state)), 0);
    dashboard_.state().set(std::move(queue));
}

// Who has which GPU, and what is leased, as far as that depends on the jobs.
void ServerDashboard::collect_holders() {
    holders_.clear();
    job_leases_.clear();
    others_ = outside;
    for (auto const& [id, job] : queue_.jobs()) {
        auto const& stored = job->stored;
        auto const& needs = stored.request.needs;
        // It may have a part of its GPUs already.
        if (stored.state == JobState::starting && needs.gpus > 0)
            others_ = text(outside, ", or job ", stored.request.name, ", which starts");
        if (stored.state != JobState::running || needs.empty()) continue;
        for (auto const& word : named_gpus(stored.gpus)) {
            int index = 0;
            if (std::from_chars(word.data(), word.data() + word.size(), index).ec == std::errc())
                holders_[index] = stored.request.name;
        }
        auto& lease = job_leases_.emplace_back();
        lease.holder = stored.request.name;
        lease.host = host_;
        lease.resources = describe(needs);
        if (stored.request.limit && stored.started)
            lease.until = *stored.started + *stored.request.limit;
    }
}

void ServerDashboard::publish_resources() {
    try {
        auto gpus = gpu_watch_.look(holders_, others_);
        auto leases = job_leases_;
        auto const there = gpu_watch_.leases().value_or(0);
        auto const others = there - std::min(there, leases.size());
        for (std::size_t i = 0; i < std::min(others, most_other_leases_shown); ++i)
            leases.push_back({.holder = outside, .host = host_, .resources = "not known"});
        if (!shown_gpus_ || *shown_gpus_ != gpus)
            dashboard_.state().set(*(shown_gpus_ = std::move(gpus)));
        if (!shown_leases_ || *shown_leases_ != leases)
            dashboard_.state().set(*(shown_leases_ = std::move(leases)));
    } catch (SystemError const& problem) {
        log_warning(problem.what());
    }
}

void ServerDashboard::finish() {
    updating_ = {};
    update();
    server_.state = "ended";
    event(Level::info, "The server has ended; jobs that run go on");
    dashboard_.state().set(server_);
    dashboard_.finish();
}

}  // namespace sinew::launch::service
