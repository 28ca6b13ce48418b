// SPDX-License-Identifier: Apache-2.0
#include "launchers/verbs/cluster/docker_jobs.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <exception>
#include <map>
#include <mutex>
#include <sinew/error.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "launchers/common/job_name.hpp"
#include "launchers/docker/engine.hpp"
#include "launchers/docker/frames.hpp"
#include "launchers/docker/host.hpp"
#include "launchers/io/lines.hpp"
#include "launchers/verbs/host_jobs.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using namespace std::chrono_literals;
using LogClock = std::chrono::steady_clock;
using docker::Engine;
using docker::ListedContainer;

constexpr auto container_ending_time = 10s;  ///< that agents get before they are killed
constexpr auto longest_log_silence = std::chrono::hours(24 * 365);

std::string container_label(ListedContainer const& container, char const* key) {
    auto const found = container.labels.find(key);
    return found == container.labels.end() ? std::string() : found->second;
}

int parse_node_number(std::string const& words) {
    int number = 0;
    std::from_chars(words.data(), words.data() + words.size(), number);
    return number;
}

// What is known of the nodes of one name from their labels.
JobSummary summary_of_containers(std::string const& name,
                                 std::vector<ListedContainer> const& containers) {
    JobSummary job;
    job.name = name;
    job.backend = "docker";
    job.id = containers.front().id.substr(0, 12);
    job.command = container_label(containers.front(), docker::command_label);
    // Other users of the engine may have set it.
    std::erase_if(job.command, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    job.nodes = static_cast<int>(containers.size());
    job.state = "finishing";
    std::int64_t first = containers.front().created;
    for (auto const& each : containers) {
        first = std::min(first, each.created);
        if (each.state == "running") job.state = "running";
        else if (each.state == "created" && job.state != "running") job.state = "starting";
    }
    job.started = JobSummary::Time(std::chrono::seconds(first));
    job.pid = docker::process_of(container_label(containers.front(), docker::owner_label));
    return job;
}

/// Gives one container's frames to the sink of all.
class FrameReader {
public:
    FrameReader(ListedContainer const& container, LogSink& sink, std::mutex& turn)
        : node_(parse_node_number(container_label(container, docker::node_label))),
          name_(container.name), sink_(sink), turn_(turn) {}

    void read(docker::HttpConnection frames) {
        while (auto const piece = frames.piece(longest_log_silence))
            parser_.feed(*piece, [this](auto stream, std::string_view bytes) {
                bool const out = stream == docker::FrameParser::Stream::out;
                (out ? out_ : err_).feed(bytes, LogClock::now(), giver(out));
            });
        out_.finish(giver(true));
        err_.finish(giver(false));
    }

private:
    LineAssembler::Sink giver(bool out) {
        return [this, out](LineAssembler::Piece piece) {
            std::lock_guard const lock(turn_);
            sink_.output({.rank = node_,
                          .node = name_,
                          .stream = out ? OutputStream::out : OutputStream::err,
                          .time = std::chrono::system_clock::now(),
                          .bytes = std::string(piece.bytes),
                          .starts_line = piece.starts_line});
        };
    }

    int const node_;
    std::string const name_;
    LogSink& sink_;
    std::mutex& turn_;
    docker::FrameParser parser_;
    LineAssembler out_, err_;
};

/// Acquired nodes. Their numbers stand for ranks.
class ContainerJob final : public JobHandle {
public:
    ContainerJob(Engine const& engine, std::string name)
        : engine_(engine), name_(std::move(name)) {}

    JobSummary summary() override { return summary_of_containers(name_, containers()); }

    void logs(LogOptions const& options, LogSink& sink) override {
        std::mutex turn;
        std::vector<std::thread> threads;
        std::exception_ptr problem;
        for (auto const& each : containers()) {
            int const node = parse_node_number(container_label(each, docker::node_label));
            if (options.ranks && !options.ranks->contains(node)) continue;
            auto read = [&, each] {
                try {
                    FrameReader(each, sink, turn)
                        .read(engine_.logs(each.id, options.follow, options.tail.value_or(-1)));
                } catch (...) {
                    std::lock_guard const lock(turn);
                    problem = std::current_exception();
                }
            };
            // Each is followed to its end.
            if (options.follow) threads.emplace_back(std::move(read));
            else read();
        }
        for (auto& thread : threads) thread.join();
        if (problem) std::rethrow_exception(problem);
    }

    End attach(LogOptions const& options, LogSink& sink) override {
        std::vector<docker::HttpConnection> waiting;
        for (auto const& each : containers()) waiting.push_back(engine_.wait_removed(each.id));
        auto following = options;
        following.follow = true;
        logs(following, sink);
        End end{.exit_code = 0, .cause = {}};
        for (auto& each : waiting)
            if (int const code = Engine::exit_code_of(each); end.exit_code == 0)
                end.exit_code = code;
        if (end.exit_code != 0)
            end.cause = text("a node of ", name_, " has ended with code ", end.exit_code);
        return end;
    }

    // Nodes that end are replaced, unless whoever has acquired them gives them back.
    void stop(StopOptions const& options) override {
        auto const all = containers();
        auto const owner = docker::process_of(container_label(all.front(), docker::owner_label));
        bool const told = owner > 0 && ::kill(owner, SIGTERM) == 0;
        if (options.now || !told) signal(all, options.now ? "SIGKILL" : "SIGTERM");
        auto const grace = options.grace.value_or(container_ending_time);
        auto const kill_at = LogClock::now() + grace;
        for (bool killed = options.now; !listed().empty();) {
            if (LogClock::now() > kill_at + container_ending_time)
                throw Timeout(text(name_, " has not ended. docker ps --filter label=",
                                   docker::job_label, "=", name_, " shows its containers"));
            if (LogClock::now() > kill_at && !std::exchange(killed, true))
                signal(listed(), "SIGKILL");
            std::this_thread::sleep_for(50ms);
        }
    }

private:
    std::vector<ListedContainer> listed() const {
        return engine_.list({text(docker::job_label, "=", name_)});
    }
    std::vector<ListedContainer> containers() const {
        auto found = listed();
        if (found.empty()) throw Unavailable(text(name_, " has ended"));
        std::sort(found.begin(), found.end(),
                  [](auto const& a, auto const& b) { return a.name < b.name; });
        return found;
    }
    void signal(std::vector<ListedContainer> const& containers, char const* number) const {
        for (auto const& each : containers) engine_.kill(each.id, number);
    }

    Engine const& engine_;
    std::string const name_;
};

class DockerJobs final : public JobSource {
public:
    DockerJobs() : engine_(docker::engine_socket()) {}
    std::string_view name() const override { return "the container engine"; }

    std::vector<JobSummary> list() override {
        auto jobs = of_runs_.list();
        std::map<std::string, std::vector<ListedContainer>> others;
        for (auto& each : engine_.list({docker::job_label}))
            if (auto const name = container_label(each, docker::job_label); is_job_name(name))
                others[name].push_back(std::move(each));
        for (auto const& job : jobs) others.erase(job.name);
        for (auto const& [name, containers] : others)
            jobs.push_back(summary_of_containers(name, containers));
        return jobs;
    }

    std::unique_ptr<JobHandle> find(std::string const& job) override {
        auto const jobs = list();
        auto const index = choose_job(jobs, job);
        if (!index) return nullptr;
        auto const& name = jobs[*index].name;
        if (auto found = of_runs_.find(name)) return found;
        return std::make_unique<ContainerJob>(engine_, name);
    }

private:
    Engine const engine_;
    HostJobs of_runs_{"docker"};
};

}  // namespace

std::unique_ptr<JobSource> make_docker_jobs(JobSourceOptions const&) {
    return std::make_unique<DockerJobs>();
}

}  // namespace sinew::launch
