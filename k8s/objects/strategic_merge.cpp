// SPDX-License-Identifier: Apache-2.0
#include "k8s/objects/strategic_merge.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::k8s {
namespace {

using Json = nlohmann::json;

constexpr auto directive = "$patch";

struct MergeKey {
    std::string_view list, key;
};
// Of the lists in a PodTemplateSpec, as the API's types have them (patchMergeKey). Lists that are
// not here, such as tolerations and command, are replaced.
constexpr std::array<MergeKey, 17> merge_keys{{{"containers", "name"},
                                               {"initContainers", "name"},
                                               {"ephemeralContainers", "name"},
                                               {"volumes", "name"},
                                               {"env", "name"},
                                               {"imagePullSecrets", "name"},
                                               {"resourceClaims", "name"},
                                               {"schedulingGates", "name"},
                                               {"volumeMounts", "mountPath"},
                                               {"volumeDevices", "devicePath"},
                                               {"ports", "containerPort"},
                                               {"hostAliases", "ip"},
                                               {"topologySpreadConstraints", "topologyKey"},
                                               {"ownerReferences", "uid"},
                                               {"conditions", "type"},
                                               {"podIPs", "ip"},
                                               {"hostIPs", "ip"}}};

std::string_view key_of(std::string_view list) {
    for (auto const& each : merge_keys)
        if (each.list == list) return each.key;
    return {};
}

class Merge {
public:
    Json objects(Json base, Json const& patch, std::string const& path) const {
        if (auto const how = directive_of(patch, path); how == "replace") return without(patch);
        if (!base.is_object()) base = Json::object();
        for (auto const& [key, value] : patch.items()) {
            if (key == directive) continue;
            if (key.starts_with('$'))
                refuse(path, text("has ", key,
                                  ", which is not supported here (only $patch: merge, "
                                  "replace and delete)"));
            auto const below = path.empty() ? key : path + "." + key;
            if (value.is_null()) base.erase(key);
            else if (value.is_object() && directive_of(value, below) == "delete") base.erase(key);
            else if (value.is_object()) base[key] = objects(base.value(key, Json()), value, below);
            else if (value.is_array())
                base[key] = lists(base.value(key, Json()), value, key, below);
            else base[key] = value;
        }
        return base;
    }

private:
    [[noreturn]] static void refuse(std::string const& path, std::string const& why) {
        throw UsageError(
            text("the pod template ", path.empty() ? "itself" : "at " + path, " ", why));
    }

    static std::string directive_of(Json const& patch, std::string const& path) {
        auto const found = patch.find(directive);
        if (found == patch.end()) return {};
        auto const* const how = found->get_ptr<std::string const*>();
        if (!how || (*how != "merge" && *how != "replace" && *how != "delete"))
            refuse(path,
                   text("has $patch: ", found->dump(), " (must be merge, replace or delete)"));
        return *how;
    }

    static Json without(Json patch) {
        patch.erase(directive);
        return patch;
    }

    Json lists(Json base, Json const& patch, std::string const& name,
               std::string const& path) const {
        auto const key = key_of(name);
        bool const by_key =
            !key.empty() &&
            std::all_of(patch.begin(), patch.end(), [](auto const& e) { return e.is_object(); });
        if (!by_key) {
            if (!key.empty() && !patch.empty())
                refuse(path, text("must be a list of maps, each with ", key));
            return patch;
        }
        bool const replace = std::any_of(patch.begin(), patch.end(), [&](Json const& element) {
            return directive_of(element, path) == "replace" && element.size() == 1;
        });
        if (!base.is_array() || replace) base = Json::array();
        for (auto const& element : patch) {
            auto const how = directive_of(element, path);
            if (how == "replace" && element.size() == 1) continue;
            auto const which = element.find(key);
            if (which == element.end() || which->is_structured())
                refuse(path, text("has an element without ", key, ", by which it would be merged"));
            auto const same = std::find_if(base.begin(), base.end(), [&](Json const& existing) {
                return existing.is_object() && existing.contains(key) && existing[key] == *which;
            });
            auto const below = text(path, "[", which->dump(), "]");
            if (how == "delete") {
                if (same != base.end()) base.erase(same);
            } else if (same == base.end()) {
                base.push_back(objects(Json::object(), element, below));
            } else {
                *same = objects(std::move(*same), element, below);
            }
        }
        return base;
    }
};

}  // namespace

Json strategic_merge(Json base, Json const& patch) {
    if (!patch.is_object())
        throw UsageError(text("a pod template must be a map, and is ", patch.type_name(),
                              ". Write the parts of a PodTemplateSpec: metadata, spec"));
    return Merge().objects(std::move(base), patch, "");
}

}  // namespace sinew::k8s
