// SPDX-License-Identifier: Apache-2.0
#include "k8s/known_objects.hpp"

#include <set>

#include "k8s/objects/json_access.hpp"

namespace sinew::k8s {
namespace {

void strip(nlohmann::json& object) {  // half of its bytes, of no use to anybody here
    if (auto const found = object.find("metadata"); found != object.end() && found->is_object())
        found->erase("managedFields");
}

}  // namespace

KnownObjects::Identity KnownObjects::identity_of(nlohmann::json const& object) {
    auto const& metadata = member(object, "metadata");
    auto const name = string_in(metadata, "name");
    if (name.empty()) return {};
    return {string_in(metadata, "namespace") + "/" + name, string_in(metadata, "uid"),
            string_in(metadata, "resourceVersion")};
}

void KnownObjects::report(WatchEvent::Type type, std::shared_ptr<nlohmann::json const> object) {
    events.push_back({type, std::move(object), nullptr});
}

bool KnownObjects::replace(nlohmann::json items) {
    if (!items.is_array()) return false;
    std::set<std::string> present;
    for (auto const& item : items) {
        auto identity = identity_of(item);
        if (identity.key.empty()) return false;
        present.insert(std::move(identity.key));
    }
    for (auto at = known_.begin(); at != known_.end();) {
        if (present.contains(at->first)) {
            ++at;
            continue;
        }
        report(WatchEvent::Type::deleted, std::move(at->second.object));
        at = known_.erase(at);
    }
    for (auto& item : items) {
        auto const identity = identity_of(item);
        put(identity, std::move(item));
    }
    return true;
}

bool KnownObjects::put(nlohmann::json object) {
    auto const identity = identity_of(object);
    if (identity.key.empty()) return false;
    put(identity, std::move(object));
    return true;
}

void KnownObjects::put(Identity const& identity, nlohmann::json object) {
    strip(object);
    auto const made = std::make_shared<nlohmann::json const>(std::move(object));
    auto found = known_.find(identity.key);
    if (found != known_.end() && found->second.uid != identity.uid) {
        report(WatchEvent::Type::deleted, std::move(found->second.object));
        known_.erase(found);
        found = known_.end();
    }
    if (found == known_.end()) {
        known_.emplace(identity.key, Known{identity.uid, identity.version, made});
        return report(WatchEvent::Type::added, made);
    }
    if (found->second.version == identity.version && !identity.version.empty()) return;  // again
    found->second = {identity.uid, identity.version, made};
    report(WatchEvent::Type::modified, made);
}

bool KnownObjects::erase(nlohmann::json object) {
    auto const identity = identity_of(object);
    if (identity.key.empty()) return false;
    auto const found = known_.find(identity.key);
    if (found == known_.end()) return true;
    // An older object of this name: that it is gone is known.
    if (found->second.uid != identity.uid) return true;
    known_.erase(found);
    strip(object);
    report(WatchEvent::Type::deleted, std::make_shared<nlohmann::json const>(std::move(object)));
    return true;
}

}  // namespace sinew::k8s
