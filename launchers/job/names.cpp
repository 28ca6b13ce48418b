// SPDX-License-Identifier: Apache-2.0
#include "launchers/job/names.hpp"

namespace sinew::launch {

NameReply Names::answer(NameRequest const& request) {
    NameReply reply{.id = request.id, .ok = false, .value = {}};
    if (request.verb == "publish") {
        reply.ok = values_.emplace(request.key, request.value).second;  // false: the name is taken
    } else if (request.verb == "unpublish") {
        reply.ok = values_.erase(request.key) != 0;
    } else if (auto const found = values_.find(request.key); found != values_.end()) {
        reply.ok = true;
        reply.value = found->second;
    }
    return reply;
}

}  // namespace sinew::launch
