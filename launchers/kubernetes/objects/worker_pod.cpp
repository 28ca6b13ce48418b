// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/objects/worker_pod.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sinew/error.hpp>
#include <string_view>

#include "launchers/kubernetes/objects/pod_template.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::kubernetes {
namespace {

using Json = nlohmann::json;

Json part(Json const& object, char const* key, Json fallback) {
    auto const at = object.find(key);
    return at == object.end() || at->type() != fallback.type() ? fallback : *at;
}

std::string name_in(Json const& object) { return object.value("name", ""); }

// The container of the program that asks: that of `sinew run`, or else the first.
Json own_container(Json const& own) {
    auto const containers = part(part(own, "spec", Json::object()), "containers", Json::array());
    for (auto const& container : containers)
        if (container.is_object() && name_in(container) == container_name) return container;
    if (containers.empty() || !containers.front().is_object())
        throw UsageError("the API server has sent a pod without containers");
    return containers.front();
}

Json owners(Json const& own) {
    auto const meta = part(own, "metadata", Json::object());
    return Json::array({Json{{"apiVersion", "v1"},
                             {"kind", "Pod"},
                             {"name", name_in(meta)},
                             {"uid", meta.value("uid", "")}}});
}

// What a pod has for itself, such as a token or its job's key, is not for others.
bool is_shared(Json const& volume) {
    for (char const* kind :
         {"persistentVolumeClaim", "configMap", "secret", "hostPath", "nfs", "csi", "cephfs"})
        if (volume.contains(kind)) return true;
    return false;
}

bool is_shared_variable(std::string_view name) {
    for (std::string_view const prefix :
         {"SINEW_POD_", "SINEW_PLACE", "SINEW_ROOT", "SINEW_NODE_", "JOB_COMPLETION_INDEX"})
        if (name.starts_with(prefix)) return false;
    return true;
}

void add_volumes(Json& pod, Json& container, Json const& own, Json const& own_container) {
    std::set<std::string> names;
    for (auto const& volume : pod["volumes"]) names.insert(name_in(volume));
    std::set<std::string> added;
    for (auto const& volume : part(part(own, "spec", Json::object()), "volumes", Json::array())) {
        if (!is_shared(volume) || !names.insert(name_in(volume)).second) continue;
        pod["volumes"].push_back(volume);
        added.insert(name_in(volume));
    }
    for (auto const& mount : part(own_container, "volumeMounts", Json::array()))
        if (added.contains(name_in(mount))) container["volumeMounts"].push_back(mount);
}

void set_variable(Json& list, Json const& variable) {
    auto const same = std::find_if(list.begin(), list.end(), [&](Json const& other) {
        return name_in(other) == name_in(variable);
    });
    if (same == list.end()) list.push_back(variable);
    else *same = variable;
}

// The wished amount, where there is one, else that of the pod that asks.
void set_resources(Json& container, Json const& own_container, WorkerRequest const& request) {
    auto resources = part(own_container, "resources", Json::object());
    if (request.cpu > 0) {
        resources["requests"]["cpu"] = std::to_string(request.cpu);
        if (resources.contains("limits")) resources["limits"].erase("cpu");
    }
    if (request.memory_mib > 0)
        resources["requests"]["memory"] = resources["limits"]["memory"] =
            text(request.memory_mib, "Mi");
    if (request.gpu > 0) {
        resources["limits"]["nvidia.com/gpu"] = std::to_string(request.gpu);
        resources["requests"].erase("nvidia.com/gpu");
    }
    container["resources"] = resources;
}

}  // namespace

Json worker_pod(Json const& own, WorkerRequest const& request, std::string const& name) {
    auto const mine = own_container(own);
    auto const own_spec = part(own, "spec", Json::object());
    KubernetesOptions options;
    options.image = request.image.empty() ? mine.value("image", "") : request.image;
    options.cpu = "0";
    auto made = pod_template(options, {.job = request.group,
                                       .command = request.command,
                                       .env = {{"SINEW_NODE_CONFIG", text(job_folder, "/config")}},
                                       .ranks = 1,
                                       .gpus = 0,
                                       .grace_s = 15,
                                       .service_variables = false});
    auto& spec = made["spec"];
    auto& container = spec["containers"][0];
    spec.erase("subdomain");
    add_volumes(spec, container, own, mine);
    for (auto const& variable : part(mine, "env", Json::array()))
        if (is_shared_variable(name_in(variable))) set_variable(container["env"], variable);
    for (auto const& [key, value] : request.env)
        set_variable(container["env"], Json{{"name", key}, {"value", value}});
    if (mine.contains("envFrom")) container["envFrom"] = mine["envFrom"];
    for (char const* key : {"imagePullPolicy", "securityContext"})
        if (mine.contains(key)) container[key] = mine[key];
    for (char const* key : {"nodeSelector", "tolerations", "imagePullSecrets", "securityContext",
                            "affinity", "priorityClassName", "schedulerName", "runtimeClassName"})
        if (own_spec.contains(key)) spec[key] = own_spec[key];
    if (!request.folder.empty()) container["workingDir"] = request.folder;
    set_resources(container, mine, request);
    made["apiVersion"] = "v1";
    made["kind"] = "Pod";
    made["metadata"]["name"] = name;
    made["metadata"]["ownerReferences"] = owners(own);
    return made;
}

Json worker_secret(Json const& own, std::string const& group, std::string const& configuration) {
    return {
        {"apiVersion", "v1"},
        {"kind", "Secret"},
        {"metadata",
         {{"name", group}, {"labels", object_labels({}, group)}, {"ownerReferences", owners(own)}}},
        {"type", "Opaque"},
        {"stringData", {{"config", configuration + "\n"}}}};
}

}  // namespace sinew::launch::kubernetes
