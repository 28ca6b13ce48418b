// SPDX-License-Identifier: Apache-2.0
#include "k8s/call.hpp"

#include <nlohmann/json.hpp>

#include "k8s/objects/json_access.hpp"
#include "k8s/requests/session.hpp"

namespace sinew::k8s {

ApiCall create(Resource const& resource, Json object, std::string ns) {
    ApiCall call;
    call.verb = ApiCall::Verb::create;
    call.resource = resource;
    if (!object.contains("apiVersion")) object["apiVersion"] = resource.api_version();
    if (!object.contains("kind")) object["kind"] = resource.kind;
    call.ns = ns.empty() ? string_in(object, "metadata", "namespace") : std::move(ns);
    call.name = string_in(object, "metadata", "name");
    call.body = object.dump(-1, ' ', false, Json::error_handler_t::replace);
    call.content_type = "application/json";
    if (!call.name.empty()) call.create_id = random_id();
    return call;
}

ApiCall get(Resource const& resource, std::string name, std::string ns) {
    ApiCall call;
    call.resource = resource;
    call.ns = std::move(ns);
    call.name = std::move(name);
    return call;
}

ApiCall list(Resource const& resource, Selection selection) {
    ApiCall call;
    call.verb = ApiCall::Verb::list;
    call.resource = resource;
    call.ns = std::move(selection.ns);
    if (!selection.label_selector.empty())
        call.query.emplace_back("labelSelector", std::move(selection.label_selector));
    if (!selection.field_selector.empty())
        call.query.emplace_back("fieldSelector", std::move(selection.field_selector));
    return call;
}

ApiCall patch(Resource const& resource, std::string name, PatchType type, Json const& changes,
              std::string ns) {
    auto call = get(resource, std::move(name), std::move(ns));
    call.verb = ApiCall::Verb::patch;
    call.body = changes.dump(-1, ' ', false, Json::error_handler_t::replace);
    call.conditional =
        changes.is_object() && !string_in(changes, "metadata", "resourceVersion").empty();
    call.content_type = type == PatchType::merge ? "application/merge-patch+json"
                        : type == PatchType::strategic_merge
                            ? "application/strategic-merge-patch+json"
                            : "application/json-patch+json";
    return call;
}

ApiCall remove(Resource const& resource, std::string name, DeleteOptions const& options,
               std::string ns) {
    auto call = get(resource, std::move(name), std::move(ns));
    call.verb = ApiCall::Verb::remove;
    using Propagation = DeleteOptions::Propagation;
    Json body{{"apiVersion", "v1"},
              {"kind", "DeleteOptions"},
              {"propagationPolicy", options.propagation == Propagation::background   ? "Background"
                                    : options.propagation == Propagation::foreground ? "Foreground"
                                                                                     : "Orphan"}};
    if (options.grace_period) body["gracePeriodSeconds"] = options.grace_period->count();
    if (!options.uid.empty()) body["preconditions"] = {{"uid", options.uid}};
    call.conditional = !options.uid.empty();
    call.body = body.dump();
    call.content_type = "application/json";
    return call;
}

}  // namespace sinew::k8s
