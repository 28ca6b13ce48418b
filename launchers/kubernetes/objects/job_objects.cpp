// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/objects/job_objects.hpp"

#include <algorithm>
#include <chrono>
#include <sinew/error.hpp>

#include "launchers/kubernetes/objects/pod_template.hpp"
#include "src/base/text.hpp"
#include "src/wire/tls/secret.hpp"

namespace sinew::launch::kubernetes {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

// For images to be pulled, and for a cluster to add nodes.
constexpr auto default_start_timeout = 10min;
// How long agents wait for the replacement of a root that is lost.
constexpr auto root_patience = 5min;
// Of the grace period of a pod, what is left to the agent when the ranks have ended or were killed.
constexpr auto agent_time = 10s;
// Deleted pods count as failed for the Job. The root decides how often a job is restarted.
constexpr int backoff_limit = 10'000;

RunOptions checked(RunOptions options, std::string const& name) {
    auto const& flags = options.kubernetes;
    if (flags.image.empty())
        throw UsageError(
            "--backend kubernetes needs --image, with the program and (unless "
            "--agent-image has it) sinew");
    if (!options.hosts.empty() && options.hosts_from.empty())
        throw UsageError(
            "-H and --hostfile name hosts (the cluster chooses its nodes). Use "
            "--nnodes, and --node-selector to restrict them");
    if (options.fake_nodes > 0)
        throw UsageError("--fake-nodes is for tests on this host. Use --nnodes");
    if (options.stdin_to != "0" && options.stdin_to != "none")
        throw UsageError(text("--stdin ", options.stdin_to,
                              " (pods get no standard input). Put input on a --volume"));
    if (name.front() >= '0' && name.front() <= '9')
        throw UsageError(text(
            "--name ", name, " (must begin with a letter on Kubernetes, as names of Services do)"));
    if (name.size() > 50)
        throw UsageError(
            text("--name ", name, " has ", name.size(),
                 " characters (at most 50, as pods have -pods or a number behind it)"));
    if (!options.start_timeout) options.start_timeout = default_start_timeout;
    options.name = name;
    return options;
}

Json kind_of(k8s::Resource const& resource) {
    return {{"apiVersion", resource.api_version()}, {"kind", std::string(resource.kind)}};
}

Json failure_policy() {
    Json const codes(replace_codes);
    Json const disruption{{"type", "DisruptionTarget"}, {"status", "True"}};
    Json const other_codes{
        {"containerName", container_name}, {"operator", "NotIn"}, {"values", codes}};
    Json const ignore{{"action", "Ignore"}, {"onPodConditions", Json::array({disruption})}};
    Json const fail{{"action", "FailJob"}, {"onExitCodes", other_codes}};
    return {{"rules", Json::array({ignore, fail})}};
}

std::string command_text(std::vector<App> const& apps) {
    std::string words;
    for (auto const& app : apps) {
        if (!words.empty()) words += " :";
        for (auto const& word : app.argv) words += text(words.empty() ? "" : " ", word);
    }
    constexpr std::size_t longest = 1000;
    return words.size() > longest ? words.substr(0, longest) + "..." : words;
}

int total_ranks(std::vector<App> const& apps, JobShape const& shape) {
    int ranks = 0;
    for (auto const& app : apps) ranks += app.ranks;
    return ranks > 0 ? ranks : shape.nodes * shape.ranks_per_node;
}

// The variable that Kubernetes sets for a Service: TRAIN_A_SERVICE_HOST for train-a.
std::string host_variable(std::string const& service) {
    std::string name;
    for (char const c : service)
        name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c == '-' ? '_' : c;
    return name + "_SERVICE_HOST";
}

}  // namespace

JobObjects::JobObjects(RunOptions const& options, std::string name, std::string ns,
                       std::string places)
    : options_(checked(options, name)), name_(std::move(name)), ns_(std::move(ns)),
      places_(std::move(places)), shape_(job_shape(options_)) {}

Json JobObjects::metadata(std::string const& name) const {
    return {
        {"name", name}, {"namespace", ns_}, {"labels", object_labels(options_.kubernetes, name_)}};
}

Json JobObjects::secret() const {
    static constexpr char const* discoveries[] = {"vip", "dns", "api"};
    Json const config{{"job", wire::Secret::random().hex().substr(0, 12)},
                      {"secret", wire::Secret::random().hex()},
                      {"nodes", shape_.nodes},
                      {"port", root_port},
                      {"discovery", discoveries[static_cast<int>(options_.kubernetes.discovery)]},
                      {"run", root_arguments(options_, shape_)},
                      {"root_patience_ms", std::chrono::milliseconds(root_patience).count()}};
    Json object = kind_of(k8s::secrets);
    object["metadata"] = metadata(name_);
    object["type"] = "Opaque";
    object["stringData"] = {{"config", config.dump() + "\n"}, {"nodes", text(shape_.nodes, "\n")}};
    if (!places_.empty()) object["stringData"]["places"] = places_;
    return object;
}

// Pods are reached before they are ready: none is until all have joined.
Json JobObjects::service(bool headless) const {
    Json selector{{"app.kubernetes.io/managed-by", "sinew"}, {"app.kubernetes.io/instance", name_}};
    if (!headless) selector["batch.kubernetes.io/job-completion-index"] = "0";
    Json object = kind_of(k8s::services);
    object["metadata"] = metadata(headless ? name_ + "-pods" : name_);
    object["spec"] = {{"selector", selector}, {"publishNotReadyAddresses", true}};
    if (headless) object["spec"]["clusterIP"] = "None";
    Json const port{{"name", "sinew"}, {"port", root_port}, {"targetPort", root_port}};
    object["spec"]["ports"] = Json::array({port});
    return object;
}

Json JobObjects::network_policy() const {
    Json const pods{
        {"matchLabels",
         {{"app.kubernetes.io/managed-by", "sinew"}, {"app.kubernetes.io/instance", name_}}}};
    Json const from{{"from", Json::array({Json{{"podSelector", pods}}})}};
    Json object = kind_of(network_policies);
    object["metadata"] = metadata(name_);
    object["spec"] = {{"podSelector", pods},
                      {"policyTypes", Json::array({"Ingress"})},
                      {"ingress", Json::array({from})}};
    return object;
}

std::vector<ClusterObject> JobObjects::before() const {
    std::vector<ClusterObject> objects{
        {k8s::secrets, secret()}, {k8s::services, service(false)}, {k8s::services, service(true)}};
    if (options_.kubernetes.network_policy) objects.push_back({network_policies, network_policy()});
    auto const gang = options_.kubernetes.gang;
    if (gang == Gang::volcano || gang == Gang::coscheduling) {
        auto const& group = gang == Gang::volcano ? k8s::volcano_pod_groups : k8s::pod_groups;
        Json object = kind_of(group);
        object["metadata"] = metadata(name_);
        object["spec"] = {{"minMember", shape_.nodes}};
        objects.push_back({group, object});
    }
    return objects;
}

std::string JobObjects::root_addresses(std::string const& root_ip) const {
    auto const by_name = text(name_, "-0.", name_, "-pods:", root_port);
    if (options_.kubernetes.discovery == Discovery::dns) return by_name;
    auto const host = root_ip.empty() ? text("$(", host_variable(name_), ")") : root_ip;
    bool const six = host.find(':') != std::string::npos;
    return text(six ? "[" : "", host, six ? "]" : "", ":", root_port, ",", by_name);
}

ClusterObject JobObjects::job(std::string const& root_ip) const {
    auto const& flags = options_.kubernetes;
    bool const restarts = options_.max_restarts > 0;
    auto const grace = std::chrono::ceil<std::chrono::seconds>(options_.grace) + agent_time;
    Json pods = pod_template(flags, {.job = name_,
                                     .command = {},
                                     .env = {{"SINEW_ROOT", root_addresses(root_ip)}},
                                     .ranks = shape_.ranks_per_node,
                                     .gpus = options_.gpus,
                                     .grace_s = static_cast<int>(grace.count()),
                                     .service_variables = root_ip.empty()});
    if (flags.gang == Gang::volcano) {
        pods["metadata"]["annotations"]["scheduling.k8s.io/group-name"] = name_;
        pods["spec"]["schedulerName"] = "volcano";
    }
    if (flags.gang == Gang::coscheduling) {
        pods["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = name_;
        pods["spec"]["schedulerName"] = "scheduler-plugins-scheduler";
    }
    Json object = kind_of(k8s::jobs);
    object["metadata"] = metadata(name_);
    object["metadata"]["annotations"] = {
        {command_annotation, command_text(options_.apps)},
        {ranks_annotation, std::to_string(total_ranks(options_.apps, shape_))}};
    if (flags.gang == Gang::kueue)
        object["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = flags.queue;
    object["spec"] = {{"completionMode", "Indexed"},
                      {"completions", shape_.nodes},
                      {"parallelism", shape_.nodes},
                      {"backoffLimit", restarts ? backoff_limit : 0},
                      // A pod that is being deleted has not failed yet: otherwise the cluster would
                      // end the job, and its root, before the root knows the cause.
                      {"podReplacementPolicy", "Failed"},
                      {"ttlSecondsAfterFinished", flags.ttl.count()},
                      {"template", pods}};
    if (restarts) object["spec"]["podFailurePolicy"] = failure_policy();
    if (flags.gang == Gang::kueue) object["spec"]["suspend"] = true;
    return {k8s::jobs, object};
}

std::vector<Json> JobObjects::all() const {
    std::vector<Json> objects;
    for (auto& [resource, object] : before()) objects.push_back(std::move(object));
    objects.push_back(job("").object);
    return objects;
}

Json JobObjects::owner_patch(std::string const& uid) const {
    Json owner = kind_of(k8s::jobs);
    owner["name"] = name_;
    owner["uid"] = uid;
    return {{"metadata", {{"ownerReferences", Json::array({owner})}}}};
}

}  // namespace sinew::launch::kubernetes
