// SPDX-License-Identifier: Apache-2.0
#include "k8s/objects/conditions.hpp"

#include "k8s/objects/json_access.hpp"
#include "k8s/objects/timestamp.hpp"

namespace sinew::k8s {

std::vector<Condition> conditions_of(nlohmann::json const& status) {
    std::vector<Condition> found;
    for (auto const& entry : list_of(member(status, "conditions")))
        found.push_back({string_in(entry, "type"), string_in(entry, "status"),
                         string_in(entry, "reason"), string_in(entry, "message"),
                         parse_timestamp(string_in(entry, "lastTransitionTime"))});
    return found;
}

}  // namespace sinew::k8s
