// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/objects/pod_template.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sinew/error.hpp>

#include "k8s/objects/quantity.hpp"
#include "k8s/objects/strategic_merge.hpp"
#include "k8s/objects/yaml.hpp"
#include "launchers/command_line/values.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::kubernetes {
namespace {

using Json = nlohmann::json;

constexpr int user = 1000;  // any user but root; images need not know it

Json variable(char const* name, std::string const& value) {
    return {{"name", name}, {"value", value}};
}

Json field(char const* name, std::string const& path) {
    return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
}

std::string times(std::string const& quantity, int count, char const* flag) {
    auto const one = k8s::Quantity::parse(quantity, flag);
    return k8s::Quantity::parse(text(one.milli_value() * count, "m"), flag).text();
}

// CPUs are requested without a limit: a limit would suspend ranks that wait for each other.
Json resources(KubernetesOptions const& options, PodRequest const& request) {
    Json requests = Json::object(), limits = Json::object();
    if (k8s::Quantity::parse(options.cpu, "--cpu").milli_value() > 0)
        requests["cpu"] = times(options.cpu, request.ranks, "--cpu");
    if (!options.memory.empty())
        requests["memory"] = limits["memory"] = times(options.memory, request.ranks, "--memory");
    if (request.gpus > 0) limits["nvidia.com/gpu"] = std::to_string(request.gpus * request.ranks);
    Json both = Json::object();
    if (!requests.empty()) both["requests"] = requests;
    if (!limits.empty()) both["limits"] = limits;
    return both;
}

// Labels that a cluster copies from its nodes to pods are empty on others.
Json environment(PodRequest const& request) {
    Json env = Json::array();
    for (auto const& [name, value] : request.env) env.push_back(variable(name.c_str(), value));
    if (!request.env.contains("HOME")) env.push_back(variable("HOME", "/tmp"));
    env.push_back(field("SINEW_POD_NAME", "metadata.name"));
    env.push_back(field("SINEW_POD_IP", "status.podIP"));
    env.push_back(field("SINEW_POD_NODE", "spec.nodeName"));
    env.push_back(field("SINEW_PLACE_REGION", "metadata.labels['topology.kubernetes.io/region']"));
    env.push_back(field("SINEW_PLACE_ZONE", "metadata.labels['topology.kubernetes.io/zone']"));
    return env;
}

Json volume(char const* name, char const* kind, Json content) {
    return {{"name", name}, {kind, std::move(content)}};
}

Json mount(std::string const& name, std::string const& path, bool read_only = false) {
    Json one{{"name", name}, {"mountPath", path}};
    if (read_only) one["readOnly"] = true;
    return one;
}

// Adds the volumes to the pod and their mounts to its container.
void add_volumes(Json& pod, Json& container, KubernetesOptions const& options,
                 PodRequest const& request) {
    Json shm{{"medium", "Memory"}};
    if (!options.shm.empty()) shm["sizeLimit"] = k8s::Quantity::parse(options.shm, "--shm").text();
    // Files of a Secret belong to root, and the agent is another user.
    Json volumes{volume("job", "secret", {{"secretName", request.job}, {"defaultMode", 0444}}),
                 volume("shm", "emptyDir", shm), volume("tmp", "emptyDir", Json::object())};
    Json mounts{mount("job", job_folder, true), mount("shm", "/dev/shm"), mount("tmp", "/tmp")};
    if (!options.agent_image.empty()) {
        volumes.push_back(volume("agent", "emptyDir", Json::object()));
        mounts.push_back(mount("agent", agent_folder, true));
    }
    for (std::size_t i = 0; i < options.volumes.size(); ++i) {
        auto const& wanted = options.volumes[i];
        auto const name = text("claim-", i);
        Json claim{{"claimName", wanted.claim}};
        if (wanted.read_only) claim["readOnly"] = true;
        volumes.push_back(volume(name.c_str(), "persistentVolumeClaim", claim));
        mounts.push_back(mount(name, wanted.path, wanted.read_only));
    }
    pod["volumes"] = volumes;
    container["volumeMounts"] = mounts;
}

Json container_security() {
    return {{"allowPrivilegeEscalation", false},
            {"readOnlyRootFilesystem", true},
            {"capabilities", {{"drop", Json::array({"ALL"})}}}};
}

Json main_container(KubernetesOptions const& options, PodRequest const& request) {
    Json container{{"name", container_name},
                   {"image", options.image},
                   {"env", environment(request)},
                   {"resources", resources(options, request)},
                   {"securityContext", container_security()}};
    if (!options.image_pull_policy.empty())
        container["imagePullPolicy"] = options.image_pull_policy;
    container["command"] = request.command;
    if (request.command.empty()) {
        std::string const sinew =
            options.agent_image.empty() ? "sinew" : text(agent_folder, "/bin/sinew");
        container["command"] =
            Json::array({sinew, "agent", "--config", text(job_folder, "/config")});
    }
    return container;
}

// It ends before the other container begins, so that its resources add nothing to the pod's. Without them a quota of
// memory would not admit the pod.
Json copying_container(KubernetesOptions const& options, PodRequest request) {
    request.gpus = 0;
    Json container{{"name", "copy-agent"},
                   {"image", options.agent_image},
                   {"command", Json::array({"sinew", "agent", "--copy-to", agent_folder})},
                   {"securityContext", container_security()},
                   {"resources", resources(options, request)},
                   {"volumeMounts", Json::array({mount("agent", agent_folder)})}};
    if (!options.image_pull_policy.empty())
        container["imagePullPolicy"] = options.image_pull_policy;
    return container;
}

Json toleration(std::string const& words) {
    auto const colon = words.rfind(':');
    auto const equals = words.find('=');
    Json one{{"key", words.substr(0, std::min(equals, colon))}};
    one["operator"] = equals == std::string::npos ? "Exists" : "Equal";
    if (equals != std::string::npos)
        one["value"] =
            words.substr(equals + 1, colon == std::string::npos ? colon : colon - equals - 1);
    if (colon != std::string::npos) one["effect"] = words.substr(colon + 1);
    return one;
}

Json merged_with_file(Json pod_template, std::string const& path) {
    auto documents = k8s::from_yaml(read_text(path, "--pod-template"), path);
    if (documents.size() != 1 || !documents.front().is_object())
        throw UsageError(text("--pod-template ", path, " has ", documents.size(),
                              " documents (must be one PodTemplateSpec: metadata and spec)"));
    auto& file = documents.front();
    for (auto const& [key, value] : file.items())
        if (key != "metadata" && key != "spec" && key != "apiVersion" && key != "kind" &&
            key != "template")
            throw UsageError(text("--pod-template ", path, " has the key ", key,
                                  " (must be a PodTemplateSpec, with metadata and spec, or a "
                                  "PodTemplate with template)"));
    if (file.contains("template")) file = Json(file["template"]);
    file.erase("apiVersion");
    file.erase("kind");
    return k8s::strategic_merge(std::move(pod_template), file);
}

}  // namespace

std::map<std::string, std::string> object_labels(KubernetesOptions const& options,
                                                 std::string const& job) {
    auto labels = options.labels;
    labels["app.kubernetes.io/managed-by"] = "sinew";
    labels["app.kubernetes.io/instance"] = job;
    return labels;
}

std::string label_selector(std::string const& job) {
    return text("app.kubernetes.io/managed-by=sinew",
                job.empty() ? "" : text(",app.kubernetes.io/instance=", job));
}

Json pod_template(KubernetesOptions const& options, PodRequest const& request) {
    Json container = main_container(options, request);
    bool const token = !options.service_account.empty() || options.discovery == Discovery::api;
    Json pod{{"restartPolicy", "Never"},
             {"terminationGracePeriodSeconds", request.grace_s},
             {"automountServiceAccountToken", token},
             {"enableServiceLinks", request.service_variables},
             {"subdomain", text(request.job, "-pods")},
             {"securityContext",
              {{"runAsNonRoot", true},
               {"runAsUser", user},
               {"runAsGroup", user},
               {"fsGroup", user},
               {"seccompProfile", {{"type", "RuntimeDefault"}}}}}};
    if (token)
        pod["serviceAccountName"] =
            options.service_account.empty() ? "sinew-pods" : options.service_account;
    if (!options.node_selector.empty()) pod["nodeSelector"] = options.node_selector;
    for (auto const& words : options.tolerations) pod["tolerations"].push_back(toleration(words));
    for (auto const& name : options.image_pull_secrets)
        pod["imagePullSecrets"].push_back(Json{{"name", name}});
    add_volumes(pod, container, options, request);
    pod["containers"] = Json::array({container});
    if (!options.agent_image.empty())
        pod["initContainers"] = Json::array({copying_container(options, request)});
    Json result{{"metadata", {{"labels", object_labels(options, request.job)}}}, {"spec", pod}};
    if (!options.annotations.empty()) result["metadata"]["annotations"] = options.annotations;
    return options.pod_template.empty() ? result
                                        : merged_with_file(std::move(result), options.pod_template);
}

}  // namespace sinew::launch::kubernetes
