// SPDX-License-Identifier: Apache-2.0
#include "launchers/verbs/cluster/service_jobs.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <sinew/error.hpp>
#include <utility>

#include "launchers/io/lines.hpp"
#include "launchers/service/client/connection.hpp"
#include "launchers/service/client/resolve.hpp"
#include "launchers/service/key_file.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using namespace std::chrono_literals;
using service::ClientRequest;
using service::Connection;
using service::JobEntry;
using service::ServerAnswer;
using Verb = ClientRequest::Verb;
using Kind = ServerAnswer::Kind;

constexpr auto service_patience = 5s;
constexpr auto service_ending_time = 60s;  ///< beyond the job's grace period
constexpr auto longest_service_wait = std::chrono::hours(24 * 365);

bool is_unfinished(JobEntry const& job) {
    return job.state == "waiting" || job.state == "starting" || job.state == "running";
}

JobSummary summary_of_entry(JobEntry const& entry, std::string const& server) {
    JobSummary job;
    job.name = entry.name;
    job.id = std::to_string(entry.id);
    job.backend = "service";
    job.command = entry.command;
    job.state = entry.state;
    job.host = server;
    job.ranks = entry.ranks;
    job.ranks_running = entry.state == "running" ? entry.ranks : 0;
    job.nodes = 1;
    job.started = entry.started.value_or(entry.submitted);
    job.exit_code = entry.exit_code;
    job.cause = entry.cause;
    job.service = {.owner = entry.owner,
                   .gpus = entry.gpus,
                   .gpus_wanted = entry.needs.gpus,
                   .priority = entry.priority,
                   .memory = entry.memory_in_use};
    return job;
}

std::vector<JobEntry> list_of(Connection& connection) {
    std::vector<JobEntry> jobs;
    connection.send({.verb = Verb::list});
    for (;;) {
        auto answer = connection.answer();
        for (auto& each : answer.jobs) jobs.push_back(std::move(each));
        if (answer.last) return jobs;
    }
}

/// A connection lost is a job that cannot be asked.
template <class Call>
auto or_unavailable(Call const& call) {
    try {
        return call();
    } catch (PeerLost const& problem) {
        throw Unavailable(text(problem.what(), ". Try again when sinew serve runs"));
    }
}

class ServiceJob final : public JobHandle {
public:
    ServiceJob(std::shared_ptr<Connection> connection, JobEntry entry)
        : connection_(std::move(connection)), entry_(std::move(entry)) {}

    JobSummary summary() override {
        return or_unavailable([&] {
            for (auto const& job : list_of(*connection_))
                if (job.id == entry_.id) return summary_of_entry(job, connection_->address());
            throw Unavailable(text(entry_.name, " has ended"));
        });
    }

    void logs(LogOptions const& options, LogSink& sink) override {
        or_unavailable([&] { follow(options, options.follow, sink); });
    }

    End attach(LogOptions const& options, LogSink& sink) override {
        return or_unavailable([&] {
            auto const job = follow(options, true, sink);
            End end{.exit_code = job.exit_code.value_or(128 + SIGTERM), .cause = job.cause};
            if (end.cause.empty() && job.state == "cancelled")
                end.cause = text("job ", job.id, " was cancelled");
            return end;
        });
    }

    void stop(StopOptions const& options) override {
        if (!is_unfinished(entry_)) throw Unavailable(text(entry_.name, " has ended already"));
        or_unavailable([&] {
            connection_->send(
                {.verb = Verb::stop, .id = entry_.id, .now = options.now, .grace = options.grace});
            connection_->answer();
            connection_->send({.verb = Verb::follow, .id = entry_.id, .tail = 0});
            auto const deadline =
                Connection::Clock::now() + options.grace.value_or(0ms) + service_ending_time;
            while (auto const received = connection_->next(deadline))
                if (auto const* const answer = std::get_if<ServerAnswer>(&*received);
                    answer != nullptr && answer->kind == Kind::end)
                    return;
            throw Timeout(text(entry_.name, " has not ended. --now ends it at once"));
        });
    }

private:
    JobEntry follow(LogOptions const& options, bool until_end, LogSink& sink) {
        if (options.ranks)
            throw UsageError(
                "--ranks (a server keeps the output of a job's ranks together. sinew run "
                "--tag-output "
                "--at marks each line with its rank)");
        connection_->send(
            {.verb = Verb::follow, .id = entry_.id, .tail = options.tail, .until_end = until_end});
        LineAssembler out, err;
        auto const giver = [&](OutputStream stream) {
            return [&sink, stream](LineAssembler::Piece piece) {
                sink.output({.rank = 0,
                             .node = {},
                             .stream = stream,
                             .time = std::chrono::system_clock::now(),
                             .bytes = std::string(piece.bytes),
                             .starts_line = piece.starts_line});
            };
        };
        auto const deadline = Connection::Clock::now() + longest_service_wait;
        while (auto const received = connection_->next(deadline)) {
            if (auto const* const output = std::get_if<service::OutputBytes>(&*received)) {
                bool const is_out = output->stream == service::MessageKind::out;
                (is_out ? out : err)
                    .feed(output->bytes, std::chrono::steady_clock::now(),
                          giver(is_out ? OutputStream::out : OutputStream::err));
                continue;
            }
            auto const& answer = std::get<ServerAnswer>(*received);
            if (answer.kind == Kind::error) throw Unavailable(answer.text);
            if (answer.kind != Kind::end) continue;
            out.finish(giver(OutputStream::out));
            err.finish(giver(OutputStream::err));
            return answer.jobs.front();
        }
        throw Unavailable(text(entry_.name, " cannot be followed"));
    }

    std::shared_ptr<Connection> const connection_;
    JobEntry const entry_;
};

/// One server, or several.
class ServiceJobs final : public JobSource {
public:
    explicit ServiceJobs(ServiceOptions const& options)
        : key_(service::read_key(service::key_path(options.key))), at_(options.at) {
        for (auto const& address : service::resolve_servers(
                 at_, {.file = options.services, .registry = options.registry}, key_))
            addresses_.push_back(address);
    }

    std::string_view name() const override { return at_; }

    std::vector<JobSummary> list() override {
        std::vector<JobSummary> jobs;
        for (auto const& address : addresses_) {
            auto const connection = connect(address);
            for (auto const& job : or_unavailable([&] { return list_of(*connection); }))
                if (is_unfinished(job)) jobs.push_back(summary_of_entry(job, address));
        }
        return jobs;
    }

    // Those that have ended, too: their output is kept for a while.
    std::unique_ptr<JobHandle> find(std::string const& job) override {
        std::vector<JobSummary> jobs;
        std::vector<std::pair<std::shared_ptr<Connection>, JobEntry>> entries;
        for (auto const& address : addresses_) {
            auto const connection = connect(address);
            auto all = or_unavailable([&] { return list_of(*connection); });
            // The newest of a name, and what has not ended before the rest.
            std::ranges::stable_sort(all, [](JobEntry const& a, JobEntry const& b) {
                return std::pair(is_unfinished(a), a.id) > std::pair(is_unfinished(b), b.id);
            });
            for (auto& entry : all) {
                jobs.push_back(summary_of_entry(entry, address));
                entries.emplace_back(connection, std::move(entry));
            }
        }
        auto const index = choose_job(jobs, job);
        if (!index) return nullptr;
        return std::make_unique<ServiceJob>(entries[*index].first, entries[*index].second);
    }

private:
    std::shared_ptr<Connection> connect(std::string const& address) const {
        return std::make_shared<Connection>(address, key_, service_patience);
    }

    wire::Secret const key_;
    std::string const at_;
    std::vector<std::string> addresses_;
};

}  // namespace

std::unique_ptr<JobSource> make_service_jobs(JobSourceOptions const& options) {
    if (options.service.at.empty()) throw UsageError("no server is named. Say --at HOST");
    return std::make_unique<ServiceJobs>(options.service);
}

}  // namespace sinew::launch
