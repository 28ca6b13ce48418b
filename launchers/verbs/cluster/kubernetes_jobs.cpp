// SPDX-License-Identifier: Apache-2.0
#include "launchers/verbs/cluster/kubernetes_jobs.hpp"

#include <algorithm>
#include <charconv>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sinew/error.hpp>
#include <sstream>
#include <utility>

#include "k8s/objects/job_view.hpp"
#include "k8s/objects/pod_view.hpp"
#include "launchers/common/durations.hpp"
#include "launchers/kubernetes/cluster.hpp"
#include "launchers/kubernetes/job_follower.hpp"
#include "launchers/kubernetes/objects/job_objects.hpp"
#include "launchers/kubernetes/objects/pod_template.hpp"
#include "launchers/kubernetes/submission.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using namespace kubernetes;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::string annotation(nlohmann::json const& job, char const* key) {
    auto const meta = job.value("metadata", nlohmann::json::object());
    auto const all = meta.value("annotations", nlohmann::json::object());
    auto const at = all.find(key);
    return at != all.end() && at->is_string() ? at->get<std::string>() : std::string();
}

int number(std::string const& text) {
    int value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

// The state as `sinew ps` names it. The root's own knowledge is in its pod.
JobSummary summary_of(nlohmann::json const& json) {
    k8s::JobView const job(json);
    JobSummary summary;
    summary.name = job.name;
    summary.id = job.uid;
    summary.backend = "kubernetes";
    summary.command = annotation(json, command_annotation);
    summary.nodes = job.completions.value_or(job.parallelism);
    summary.ranks = number(annotation(json, ranks_annotation));
    summary.host = job.ns;
    if (job.created) summary.started = *job.created;
    bool const ended = job.complete() || job.has_failed();
    if (auto const* failed = job.condition("Failed"))
        summary.cause = text(failed->reason, ": ", failed->message);
    if (job.complete()) summary.exit_code = 0;
    summary.state = job.deleting                ? "finishing"
                    : ended                     ? "ended"
                    : job.ready < summary.nodes ? "starting"
                                                : "running";
    if (summary.state == "running") summary.ranks_running = summary.ranks;
    return summary;
}

bool is_wanted(LogOptions const& options, OutputRecord const& record) {
    return !options.ranks || options.ranks->contains(record.rank);
}

class KubernetesJob final : public JobHandle {
public:
    /// Has a client of its own, as several jobs may be stopped by as many threads.
    KubernetesJob(std::unique_ptr<k8s::Client> client, JobSummary summary)
        : own_client_(std::move(client)), client_(*own_client_), name_(summary.name),
          ns_(summary.host), summary_(std::move(summary)) {}

    JobSummary summary() override {
        summary_ = summary_of(client_.call(k8s::get(k8s::jobs, name_, ns_)));
        for (auto const& pod : root_pods()) {
            auto const end = parse_summary(pod.container(container_name)->message);
            if (!end) continue;
            summary_.exit_code = end->exit_code;
            summary_.cause = end->cause;
            summary_.restarts = end->restarts;
        }
        return summary_;
    }

    void logs(LogOptions const& options, LogSink& sink) override {
        if (options.follow) {
            follow(options, sink);
            return;
        }
        auto const pods = root_pods();
        if (pods.empty())
            throw Unavailable(
                text("job ", name_, " has no output yet (its first pod does not run)"));
        std::vector<OutputRecord> records;
        std::istringstream lines(
            client_.log({.pod = pods.back().name, .container = container_name, .ns = ns_}));
        for (std::string line; std::getline(lines, line);)
            if (OutputRecord record; parse_output_line(line, record) && is_wanted(options, record))
                records.push_back(std::move(record));
        auto const shown =
            options.tail
                ? std::min<std::size_t>(records.size(), static_cast<std::size_t>(*options.tail))
                : records.size();
        for (auto at = records.end() - static_cast<std::ptrdiff_t>(shown); at != records.end();
             ++at)
            sink.output(*at);
    }

    End attach(LogOptions const& options, LogSink& sink) override {
        auto const end = follow(options, sink);
        return {.exit_code = end.exit_code, .cause = end.cause};
    }

    void stop(StopOptions const& options) override {
        std::optional<std::chrono::seconds> grace;
        if (options.now) grace = 0s;
        else if (options.grace) grace = std::chrono::ceil<std::chrono::seconds>(*options.grace);
        JobFollower follower(client_, name_, ns_, summary_.nodes, silent());
        delete_job(client_, name_, ns_, grace);
        // The pods' own grace period is not known here; a minute is more than the default.
        auto const patience = grace.value_or(60s) + 60s;
        if (!client_.run_until([&] { return follower.without_pods(); }, Clock::now() + patience))
            throw Timeout(
                text("pods of job ", name_, " are still there after ", launch::in_words(patience),
                     ". --now ends them at once; kubectl get pods -n ", ns_, " shows them"));
    }

private:
    static JobFollower::Callbacks silent() {
        return {.output = [](auto const&) {},
                .notice = [](auto) {},
                .result = [](auto) {},
                .progress = [] {}};
    }

    // The pods of index 0 whose container runs or has run, the newest last.
    std::vector<k8s::PodView> root_pods() {
        auto const answer = client_.call(k8s::list(
            k8s::pods, {.ns = ns_, .label_selector = label_selector(name_), .field_selector = {}}));
        std::vector<k8s::PodView> pods;
        for (auto const& item : answer.value("items", nlohmann::json::array())) {
            k8s::PodView pod(item);
            auto const* container = pod.container(container_name);
            if (pod.index == 0 && container != nullptr &&
                container->state != k8s::ContainerView::State::waiting)
                pods.push_back(std::move(pod));
        }
        std::sort(pods.begin(), pods.end(),
                  [](auto const& a, auto const& b) { return a.created < b.created; });
        return pods;
    }

    JobEnd follow(LogOptions const& options, LogSink& sink) {
        JobFollower follower(client_, name_, ns_, summary_.nodes,
                             {.output =
                                  [&](OutputRecord const& record) {
                                      if (is_wanted(options, record)) sink.output(record);
                                  },
                              .notice = [](std::string_view line) { std::cerr << line << '\n'; },
                              .result = [](std::string_view) {},
                              .progress =
                                  [&] {
                                      if (!follower_ || follower_->has_ended()) return;
                                      for (auto const& line : follower_->pods().new_troubles())
                                          std::cerr << "sinew: " << line << '\n';
                                  }});
        follower_ = &follower;
        while (!client_.run_until([&] { return follower.over(); }, Clock::now() + 1h)) {}
        follower_ = nullptr;
        return follower.end();
    }

    std::unique_ptr<k8s::Client> const own_client_;
    k8s::Client& client_;
    std::string const name_, ns_;
    JobSummary summary_;
    JobFollower* follower_ = nullptr;  ///< during follow()
};

class KubernetesJobs final : public JobSource {
public:
    explicit KubernetesJobs(KubernetesOptions const& options)
        : options_(options), client_(open_cluster(options)) {}
    std::string_view name() const override { return "kubernetes"; }

    std::vector<JobSummary> list() override {
        std::vector<JobSummary> jobs;
        auto const answer = client_->call(k8s::list(
            k8s::jobs, {.ns = {}, .label_selector = label_selector(""), .field_selector = {}}));
        for (auto const& item : answer.value("items", nlohmann::json::array()))
            jobs.push_back(summary_of(item));
        return jobs;
    }

    std::unique_ptr<JobHandle> find(std::string const& job) override {
        auto jobs = list();
        auto const index = choose_job(jobs, job);
        if (!index) return nullptr;
        return std::make_unique<KubernetesJob>(open_cluster(options_), std::move(jobs[*index]));
    }

private:
    KubernetesOptions const options_;
    std::unique_ptr<k8s::Client> client_;
};

}  // namespace

std::unique_ptr<JobSource> make_kubernetes_jobs(JobSourceOptions const& options) {
    return std::make_unique<KubernetesJobs>(options.kubernetes);
}

}  // namespace sinew::launch
