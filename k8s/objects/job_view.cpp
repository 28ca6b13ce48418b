// SPDX-License-Identifier: Apache-2.0
#include "k8s/objects/job_view.hpp"

#include "k8s/objects/conditions.hpp"
#include "k8s/objects/json_access.hpp"
#include "k8s/objects/timestamp.hpp"

namespace sinew::k8s {

JobView::JobView(nlohmann::json const& job) {
    auto const& metadata = member(job, "metadata");
    auto const& spec = member(job, "spec");
    auto const& status = member(job, "status");
    name = string_in(metadata, "name");
    ns = string_in(metadata, "namespace");
    uid = string_in(metadata, "uid");
    resource_version = string_in(metadata, "resourceVersion");
    created = parse_timestamp(string_in(metadata, "creationTimestamp"));
    deleting = member(metadata, "deletionTimestamp").is_string();
    parallelism = int_of(member(spec, "parallelism"), 1);
    if (auto const& found = member(spec, "completions"); found.is_number_integer())
        completions = int_of(found);
    suspended = bool_of(member(spec, "suspend"));
    active = int_of(member(status, "active"));
    ready = int_of(member(status, "ready"));
    succeeded = int_of(member(status, "succeeded"));
    failed = int_of(member(status, "failed"));
    completed_indexes = string_in(status, "completedIndexes");
    started = parse_timestamp(string_in(status, "startTime"));
    completed = parse_timestamp(string_in(status, "completionTime"));
    conditions = conditions_of(status);
}

Condition const* JobView::condition(std::string_view type) const {
    for (auto const& each : conditions)
        if (each.type == type && each.status == "True") return &each;
    return nullptr;
}

}  // namespace sinew::k8s
