// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/server/session.hpp"

#include <algorithm>
#include <sinew/error.hpp>
#include <span>
#include <utility>

#include "launchers/service/server/memory_in_use.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/wire/hello.hpp"

namespace sinew::launch::service {
namespace {

using namespace std::chrono_literals;
using Kind = ServerAnswer::Kind;
using Progress = OutputFollower::Progress;

constexpr auto between_pumps = 50ms;
constexpr int pieces_at_a_time = 16;
constexpr int listed_finished = 100;
constexpr std::size_t jobs_in_a_message = 100;
constexpr std::size_t longest_command = 1024;
// Answers that a client has not read, besides output, which waits in its files.
constexpr std::size_t most_unread = std::size_t{32} << 20;

JobEntry entry_of(StoredJob const& job) {
    return {.id = job.id,
            .name = job.request.name,
            .state = std::string(to_text(job.state)),
            .command = wire::printable(job.request.command.substr(0, longest_command)),
            .owner = job.owner,
            .gpus = job.gpus,
            .cause = job.cause,
            .needs = job.request.needs,
            .ranks = job.request.ranks,
            .priority = job.request.priority,
            .submitted = job.submitted,
            .started = job.started,
            .ended = job.ended,
            .exit_code = job.exit_code};
}

ServerAnswer answer_about(Kind kind, StoredJob const& job, int ahead = 0) {
    ServerAnswer answer{.kind = kind, .ahead = ahead};
    answer.jobs.push_back(entry_of(job));
    return answer;
}

std::string_view bytes_of(wire::Message const& message) {
    return {reinterpret_cast<char const*>(message.payload.data()), message.payload.size()};
}

}  // namespace

Session::Session(Server server, std::unique_ptr<wire::Link> link, std::function<void()> ended)
    : server_(std::move(server)), link_(std::move(link)),
      ended_(std::move(ended)), actor_{.name = link_->peer().name, .address = link_->peer_host()} {
    link_->on({.message = [this](wire::Message const& message) { on_message(message); },
               .end = [this](wire::LinkEnd const& end) { on_end(end); },
               .drained = [this] { pump_later(); }});
}

void Session::on_message(wire::Message const& message) {
    if (link_->queued() > most_unread) {
        log_warning(text(wire::printable(actor_.name), " does not read its answers"));
        closing_ = server_.loop.after(wire::Clock::duration::zero(), [this] { on_end({}); });
        return;
    }
    try {
        if (message.kind != static_cast<std::uint8_t>(MessageKind::request))
            throw UsageError(text("a message of kind ", int{message.kind}, " (must be a request)"));
        answer(parse_client_request(bytes_of(message)));
    } catch (UsageError const& problem) {
        send({.kind = Kind::error, .text = problem.what(), .usage = true});
    } catch (Error const& problem) {
        send({.kind = Kind::error, .text = problem.what()});
    }
}

void Session::on_end(wire::LinkEnd const& end) {
    left_ = end.cause == wire::LinkEnd::Cause::closed;
    following_.reset();
    disown();
    auto const ended = ended_;  // it may destroy this object
    ended();
}

void Session::answer(ClientRequest const& request) {
    using Verb = ClientRequest::Verb;
    switch (request.verb) {
        case Verb::submit:
            return submit(request.job);
        case Verb::status:
            return send({.kind = Kind::status, .server = server_.status()});
        case Verb::list:
            return list();
        case Verb::follow:
            return follow(request);
        case Verb::stop:
            // One that has ended meanwhile is stopped, too.
            if (server_.queue.find(request.id) != nullptr || !server_.store.find(request.id))
                server_.queue.stop(request.id, actor_, "sinew stop", request.now, request.grace);
            return send({.kind = Kind::stopping, .id = request.id});
        case Verb::announce:
        case Verb::services:
            throw UsageError(
                "this is sinew serve, which does not keep names. Ask a sinew registry");
    }
}

void Session::submit(JobRequest const& request) {
    auto const id = server_.queue.submit(request, actor_);
    if (!request.keep) own(id);
    send({.kind = Kind::accepted, .id = id});
}

void Session::own(std::int64_t id) {
    if (owned_ == id) return;
    disown();
    owned_ = id;
    server_.queue.client_came(id);
}

void Session::disown() {
    if (auto const id = std::exchange(owned_, std::nullopt)) server_.queue.client_left(*id, left_);
}

void Session::list() {
    std::vector<JobEntry> entries;
    for (auto const& job : server_.store.finished(listed_finished))
        entries.push_back(entry_of(job));
    std::vector<pid_t> supervisors;
    for (auto const& [id, job] : server_.queue.jobs())
        if (job->supervisor != 0) supervisors.push_back(job->supervisor);
    auto const memory = memory_in_use(supervisors);
    for (auto const& [id, job] : server_.queue.jobs()) {
        auto entry = entry_of(job->stored);
        if (auto const at = memory.find(job->supervisor); at != memory.end())
            entry.memory_in_use = at->second;
        entries.push_back(std::move(entry));
    }
    std::size_t begin = 0;
    do {
        auto const end = std::min(entries.size(), begin + jobs_in_a_message);
        ServerAnswer some{.kind = Kind::jobs, .last = end == entries.size()};
        some.jobs.assign(entries.begin() + static_cast<std::ptrdiff_t>(begin),
                         entries.begin() + static_cast<std::ptrdiff_t>(end));
        send(some);
        begin = end;
    } while (begin < entries.size());
}

void Session::follow(ClientRequest const& request) {
    auto const* const active = server_.queue.find(request.id);
    std::string token;
    if (active != nullptr) {
        token = active->stored.request.token;
        if (request.owner && !active->stored.request.keep) own(request.id);
    } else if (auto const job = server_.store.find(request.id)) {
        token = job->request.token;
    } else {
        throw UsageError(text("there is no job ", request.id, " on this server"));
    }
    JobFiles const files(text(server_.jobs_folder, "/", token));
    following_.emplace(
        Following{.id = request.id,
                  .until_end = request.until_end,
                  .out = OutputFollower(files.out(), MessageKind::out, request.out, request.tail),
                  .err = OutputFollower(files.err(), MessageKind::err, request.err, request.tail)});
    pump();
}

void Session::job_changed(std::int64_t id) {
    if (following_ && following_->id == id) pump_later();
}

void Session::pump_later() {
    if (following_)
        pumping_ = server_.loop.after(wire::Clock::duration::zero(), [this] { pump(); });
}

void Session::pump() {
    if (!following_) return;
    auto& following = *following_;
    // Asked before the files are read: nothing is written behind a job's end.
    auto const* const job = server_.queue.find(following.id);
    for (int piece = 0; piece < pieces_at_a_time; ++piece) {
        auto const out = following.out.send_some(*link_);
        auto const err = following.err.send_some(*link_);
        if (out == Progress::full || err == Progress::full) return;  // until it has drained
        if (out == Progress::none && err == Progress::none) {
            if (job == nullptr || !following.until_end) return send_end(following.id);
            break;
        }
        if (piece + 1 == pieces_at_a_time) return pump_later();
    }
    auto const ahead = server_.queue.ahead_of(*job);
    auto state = text(to_text(job->stored.state), " ", ahead);
    if (state != following.told) {
        following.told = std::move(state);
        send(answer_about(Kind::state, job->stored, ahead));
    }
    pumping_ = server_.loop.after(between_pumps, [this] { pump(); });
}

void Session::send_end(std::int64_t id) {
    auto const* const active = server_.queue.find(id);
    auto const job = active != nullptr ? std::optional(active->stored) : server_.store.find(id);
    following_.reset();
    if (owned_ == id && active == nullptr) owned_.reset();
    if (!job) return send({.kind = Kind::error, .text = text("job ", id, " was removed")});
    send(answer_about(Kind::end, *job));
}

void Session::send(ServerAnswer const& answer) {
    auto const bytes = to_json(answer);
    link_->send(static_cast<std::uint8_t>(MessageKind::answer), 0,
                {std::as_bytes(std::span(bytes))});
}

}  // namespace sinew::launch::service
