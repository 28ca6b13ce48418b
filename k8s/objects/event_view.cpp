// SPDX-License-Identifier: Apache-2.0
#include "k8s/objects/event_view.hpp"

#include "k8s/objects/json_access.hpp"
#include "k8s/objects/timestamp.hpp"

namespace sinew::k8s {
namespace {

// The first that is not empty: events of the two APIs have different names for the same.
std::string first(std::initializer_list<std::string> candidates) {
    for (auto const& each : candidates)
        if (!each.empty()) return each;
    return {};
}

}  // namespace

EventView::EventView(nlohmann::json const& event) {
    type = string_in(event, "type");
    reason = string_in(event, "reason");
    message = first({string_in(event, "message"), string_in(event, "note")});
    auto const& object = member(event, "involvedObject").is_object()
                             ? member(event, "involvedObject")
                             : member(event, "regarding");
    object_kind = string_in(object, "kind");
    object_name = string_in(object, "name");
    object_uid = string_in(object, "uid");
    reporter = first(
        {string_in(event, "source", "component"), string_in(event, "deprecatedSource", "component"),
         string_in(event, "reportingComponent"), string_in(event, "reportingController")});
    count = 1;
    for (auto const* key : {"count", "deprecatedCount"})
        count = std::max(count, int_of(member(event, key)));
    count = std::max(count, int_of(member(event, "series", "count")));
    for (auto const& time :
         {string_in(event, "series", "lastObservedTime"), string_in(event, "lastTimestamp"),
          string_in(event, "deprecatedLastTimestamp"), string_in(event, "eventTime"),
          string_in(event, "metadata", "creationTimestamp")})
        if (auto const parsed = parse_timestamp(time); parsed && !last_seen) last_seen = parsed;
}

}  // namespace sinew::k8s
