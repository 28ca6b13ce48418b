// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/job_follower.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sinew/error.hpp>
#include <utility>

#include "k8s/api_error.hpp"
#include "launchers/common/exit_codes.hpp"
#include "launchers/io/rank_nodes.hpp"
#include "launchers/kubernetes/objects/pod_template.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::kubernetes {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

// For the rest of the output, when the end is known. A log that cannot be read must not hold the
// user.
constexpr auto log_patience = 15s;

bool is_replaced(int exit_code) {
    return std::find(std::begin(replace_codes), std::end(replace_codes), exit_code) !=
           std::end(replace_codes);
}

k8s::Selection pods_of(std::string const& job, std::string const& ns) {
    return {.ns = ns, .label_selector = label_selector(job), .field_selector = {}};
}

k8s::Selection events_with(std::string const& ns, char const* field) {
    return {.ns = ns, .label_selector = {}, .field_selector = field};
}

}  // namespace

std::optional<JobEnd> parse_summary(std::string_view words) {
    auto const json = Json::parse(words, nullptr, false);
    if (!json.is_object() || !json.contains("exit_code")) return std::nullopt;
    auto const& code = json["exit_code"];
    if (!code.is_number_unsigned() || code.get<std::uint64_t>() > 255) return std::nullopt;
    JobEnd end{.exit_code = code, .cause = {}, .restarts = 0};
    if (auto const at = json.find("cause"); at != json.end() && at->is_string()) end.cause = *at;
    if (auto const at = json.find("restarts"); at != json.end() && at->is_number_unsigned())
        end.restarts = static_cast<int>(std::min(at->get<std::uint64_t>(), std::uint64_t{1} << 30));
    return end;
}

JobFollower::JobFollower(k8s::Client& client, std::string job, std::string ns, int pods,
                         Callbacks callbacks)
    : client_(client), job_(std::move(job)), ns_(std::move(ns)), callbacks_(std::move(callbacks)),
      table_(job_, pods), log_(
                              client_, ns_, [this](std::string_view line) { on_line(line); },
                              [](std::exception_ptr failure) { std::rethrow_exception(failure); }) {
    pod_watch_ = client_.watch(k8s::pods, pods_of(job_, ns_), [this](auto const& e) { on_pod(e); });
    job_watch_ = client_.watch(
        k8s::jobs, {.ns = ns_, .label_selector = {}, .field_selector = "metadata.name=" + job_},
        [this](auto const& e) { on_job(e); });
    warnings_ = client_.watch(k8s::core_events, events_with(ns_, "type=Warning"),
                              [this](auto const& e) { on_event(e); });
    pulls_ = client_.watch(k8s::core_events, events_with(ns_, "reason=Pulling"),
                           [this](auto const& e) { on_event(e); });
    tick();
}

void JobFollower::tick() {
    ticking_ = client_.after(1s, [this] { tick(); });
    look_at_root();
    callbacks_.progress();
}

void JobFollower::on_pod(k8s::WatchEvent const& event) {
    using Type = k8s::WatchEvent::Type;
    if (event.type == Type::failed) std::rethrow_exception(event.failure);
    if (event.type == Type::synced) synced_ = true;
    else if (event.type == Type::deleted) table_.remove(k8s::PodView(*event.object));
    else table_.update(k8s::PodView(*event.object));
    look_at_root();
    callbacks_.progress();
}

void JobFollower::on_job(k8s::WatchEvent const& event) {
    using Type = k8s::WatchEvent::Type;
    if (event.type == Type::failed) std::rethrow_exception(event.failure);
    if (event.type == Type::synced) return;
    k8s::JobView const job(*event.object);
    if (event.type == Type::deleted || job.deleting) deleted_ = true;
    if (job.completions) table_.want(*job.completions);
    std::optional<JobEnd> end;
    if (event.type == Type::deleted)
        end =
            JobEnd{.exit_code = exit_launcher_failed, .cause = text("job ", job_, " was deleted")};
    else if (auto const* failed = job.condition("Failed"))
        end = JobEnd{
            .exit_code = exit_launcher_failed,
            .cause = text("job ", job_, " failed (", failed->reason, "): ", failed->message)};
    else if (job.complete()) end = JobEnd{};
    if (end && !end_) {
        look_at_root();  // which knows more
        if (!end_) {
            end_ = std::move(end);
            end_since_ = std::chrono::steady_clock::now();
            ask_for_pods();
        }
    }
}

// The watch of the pods may be behind that of the Job, even so far that it has not told of any pod. Of what the list has
// only containers that have ended go into the table, with the reason: the watch would never remove another pod that it
// has not seen.
void JobFollower::ask_for_pods() {
    asks_ = true;
    question_ =
        client_.start(k8s::list(k8s::pods, pods_of(job_, ns_)),
                      [this](std::exception_ptr failure, Json const& answer) {
                          if (failure) {  // what the Job says has to do
                              asks_ = false;
                              return;
                          }
                          std::optional<k8s::PodView> newest;
                          for (auto const& item : answer.value("items", Json::array())) {
                              k8s::PodView pod(item);
                              auto const* container = pod.container(container_name);
                              if (container != nullptr &&
                                  container->state == k8s::ContainerView::State::terminated)
                                  table_.update(pod);
                              if (pod.index == 0 && !log_.replaced(pod.name) &&
                                  (!newest || newest->created < pod.created))
                                  newest = pod;
                          }
                          if (newest) look_at(*newest);
                          callbacks_.progress();  // it is not over yet, so that reasons are told
                          asks_ = false;
                      });
}

// Without the right to see events the pods' own conditions have to do.
void JobFollower::on_event(k8s::WatchEvent const& event) {
    using Type = k8s::WatchEvent::Type;
    if (event.object && event.type != Type::deleted) table_.note(k8s::EventView(*event.object));
    if (event.type != Type::failed || std::exchange(events_denied_, true)) return;
    try {
        std::rethrow_exception(event.failure);
    } catch (Error const& error) {
        callbacks_.notice(text("sinew: reasons may be missing: ", error.what()));
    }
}

void JobFollower::look_at_root() {
    if (auto const* pod = table_.pod(0)) look_at(*pod);
}

void JobFollower::look_at(k8s::PodView const& pod) {
    auto const* container = pod.container(container_name);
    if (container == nullptr) return;
    bool const ended = container->state == k8s::ContainerView::State::terminated;
    if (!ended && container->state != k8s::ContainerView::State::running) return;
    if (log_.replaced(pod.name)) return;
    has_root_ = true;
    log_.follow(pod.name, ended);
    if (!ended) return;
    int const code = container->exit_code.value_or(exit_launcher_failed);
    auto summary = parse_summary(container->message);
    if (!summary && is_replaced(code)) return;  // another pod continues, or the Job fails
    if (!summary)
        summary = JobEnd{.exit_code = code,
                         .cause = code == 0 ? ""
                                            : text(pod.name, " ended with code ", code, ": ",
                                                   container->reason, " ", container->message)};
    if (end_ && end_->exit_code == summary->exit_code && end_->cause == summary->cause) return;
    bool const first = !end_;
    end_ = std::move(summary);
    end_since_ = std::chrono::steady_clock::now();
    if (first && end_->exit_code != 0) ask_for_pods();  // one of them may be the cause
}

bool JobFollower::over() const {
    if (!end_ || asks_) return false;
    return !has_root_ || log_.complete() ||
           std::chrono::steady_clock::now() - end_since_ > log_patience;
}

// The root prints output as JSON, one line for each node that joins, and one of where the ranks are;
// its other lines are for people.
void JobFollower::on_line(std::string_view line) {
    has_log_ = true;
    if (OutputRecord record; parse_output_line(line, record)) return callbacks_.output(record);
    if (line.starts_with('{')) {
        if (RankNodes::parse(line)) return;  // for whoever looks for a rank
        auto const json = Json::parse(line, nullptr, false);
        if (json.is_object() && json.contains("joined") && json["joined"].is_number_unsigned()) {
            table_.joined(json["joined"]);
            return callbacks_.progress();
        }
        if (json.is_object() && json.contains("exit_code")) return callbacks_.result(line);
    }
    callbacks_.notice(line);
}

}  // namespace sinew::launch::kubernetes
