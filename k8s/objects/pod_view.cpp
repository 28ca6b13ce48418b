// SPDX-License-Identifier: Apache-2.0
#include "k8s/objects/pod_view.hpp"

#include <algorithm>
#include <charconv>

#include "k8s/objects/conditions.hpp"
#include "k8s/objects/json_access.hpp"
#include "k8s/objects/timestamp.hpp"
#include "src/base/text.hpp"

namespace sinew::k8s {
namespace {

using Json = nlohmann::json;

std::optional<int> optional_int(Json const& value) {
    return value.is_number_integer() ? std::optional(int_of(value)) : std::nullopt;
}

std::optional<int> index_of(Json const& metadata) {
    constexpr auto key = "batch.kubernetes.io/job-completion-index";
    // A label since Kubernetes 1.28, an annotation before.
    auto found = string_in(metadata, "labels", key);
    if (found.empty()) found = string_in(metadata, "annotations", key);
    int index = 0;
    auto const* const end = found.data() + found.size();
    auto const [at, error] = std::from_chars(found.data(), end, index);
    if (found.empty() || at != end || error != std::errc() || index < 0) return std::nullopt;
    return index;
}

ContainerView container_of(Json const& status, bool init) {
    ContainerView view;
    view.name = string_in(status, "name");
    view.init = init;
    view.ready = bool_of(member(status, "ready"));
    view.restarts = int_of(member(status, "restartCount"));
    auto const& state = member(status, "state");
    Json const* of = nullptr;
    for (auto const& [key, kind] : {std::pair("waiting", ContainerView::State::waiting),
                                    {"running", ContainerView::State::running},
                                    {"terminated", ContainerView::State::terminated}})
        if (auto const& found = member(state, key); found.is_object()) {
            of = &found;
            view.state = kind;
        }
    if (of) {
        view.reason = string_in(*of, "reason");
        view.message = string_in(*of, "message");
        view.started = parse_timestamp(string_in(*of, "startedAt"));
        if (view.state == ContainerView::State::terminated) {
            view.exit_code = optional_int(member(*of, "exitCode"));
            view.signal = optional_int(member(*of, "signal"));
            view.finished = parse_timestamp(string_in(*of, "finishedAt"));
        }
    }
    auto const& last = member(status, "lastState", "terminated");
    view.last_exit_code = optional_int(member(last, "exitCode"));
    view.last_reason = string_in(last, "reason");
    return view;
}

std::string with(std::string const& reason, std::string const& message) {
    if (message.empty()) return reason;
    return reason.empty() ? message : reason + ": " + message;
}

std::string trouble_of(ContainerView const& container) {
    auto const which = text(container.init ? "init container " : "container ", container.name);
    if (container.state == ContainerView::State::waiting) {
        if (container.reason.empty() || container.reason == "ContainerCreating" ||
            container.reason == "PodInitializing")
            return {};
        auto const last = container.last_exit_code
                              ? text(", last ended with ", with(container.last_reason, ""), " ",
                                     *container.last_exit_code)
                              : std::string();
        return with(text(container.reason, " (", which, last, ")"), container.message);
    }
    if (container.state == ContainerView::State::terminated && container.exit_code.value_or(0) != 0)
        return with(text(container.reason.empty() ? "Error" : container.reason, " (", which,
                         ", exit code ", *container.exit_code, ")"),
                    container.message);
    return {};
}

}  // namespace

PodView::PodView(Json const& pod) {
    auto const& metadata = member(pod, "metadata");
    auto const& status = member(pod, "status");
    name = string_in(metadata, "name");
    ns = string_in(metadata, "namespace");
    uid = string_in(metadata, "uid");
    resource_version = string_in(metadata, "resourceVersion");
    index = index_of(metadata);
    deleting = member(metadata, "deletionTimestamp").is_string();
    created = parse_timestamp(string_in(metadata, "creationTimestamp"));
    started = parse_timestamp(string_in(status, "startTime"));
    node = string_in(pod, "spec", "nodeName");
    phase = string_in(status, "phase");
    reason = string_in(status, "reason");
    message = string_in(status, "message");
    ip = string_in(status, "podIP");
    for (auto const& entry : list_of(member(status, "podIPs")))
        if (auto address = string_in(entry, "ip"); !address.empty())
            ips.push_back(std::move(address));
    if (ips.empty() && !ip.empty()) ips.push_back(ip);
    conditions = conditions_of(status);
    for (auto const& entry : list_of(member(status, "initContainerStatuses")))
        containers.push_back(container_of(entry, true));
    for (auto const& entry : list_of(member(status, "containerStatuses")))
        containers.push_back(container_of(entry, false));
}

Condition const* PodView::condition(std::string_view type) const {
    auto const found = std::find_if(conditions.begin(), conditions.end(),
                                    [&](Condition const& one) { return one.type == type; });
    return found == conditions.end() ? nullptr : &*found;
}

ContainerView const* PodView::container(std::string_view of_name) const {
    auto const found = std::find_if(containers.begin(), containers.end(),
                                    [&](ContainerView const& one) { return one.name == of_name; });
    return found == containers.end() ? nullptr : &*found;
}

bool PodView::ready() const {
    auto const* const found = condition("Ready");
    return found && found->status == "True";
}

Condition const* PodView::disruption() const {
    auto const* const found = condition("DisruptionTarget");
    return found && found->status == "True" ? found : nullptr;
}

std::string PodView::trouble() const {
    if (phase == "Succeeded") return {};
    if (auto const* const found = disruption()) return with(found->reason, found->message);
    if (!reason.empty()) return with(reason, message);
    for (auto const& each : containers)
        if (auto found = trouble_of(each); !found.empty()) return found;
    auto const* const scheduled = condition("PodScheduled");
    if (node.empty() && scheduled && scheduled->status == "False")
        return with(scheduled->reason, scheduled->message);
    return message;
}

}  // namespace sinew::k8s
