// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "k8s/watch.hpp"

namespace sinew::k8s {

/// The set of objects that a watch has seen, and the events that its consumer has not got yet. What
/// goes in may repeat, overlap and have gaps; the events that come out are consistent.
class KnownObjects {
public:
    /// All objects that exist. False if an item is no object of the API; nothing has changed then.
    bool replace(nlohmann::json items);
    /// One that was added or modified; false if it is no object of the API.
    bool put(nlohmann::json object);
    bool erase(nlohmann::json object);

    std::deque<WatchEvent> events;

private:
    struct Identity {
        std::string key, uid, version;
    };
    struct Known {
        std::string uid, version;
        std::shared_ptr<nlohmann::json const> object;
    };
    static Identity identity_of(nlohmann::json const& object);
    void put(Identity const& identity, nlohmann::json object);
    void report(WatchEvent::Type type, std::shared_ptr<nlohmann::json const> object);

    std::map<std::string, Known> known_;
};

}  // namespace sinew::k8s
