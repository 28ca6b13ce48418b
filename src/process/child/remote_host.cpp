// SPDX-License-Identifier: Apache-2.0
#include "src/process/child/remote_host.hpp"

namespace sinew {

std::string Node::host() const {
    return is_here() ? process::Runtime::host_name() : remote_->name();
}

namespace process {

std::unique_ptr<Child> start_child(Node const& node, ChildSpec const& spec) {
    auto* const remote = NodeAccess::remote(node);
    return remote != nullptr ? remote->start(spec) : start_child(spec);
}

bool is_lost(Node const& node) {
    auto const* const remote = NodeAccess::remote(node);
    return remote != nullptr && remote->lost();
}

}  // namespace process
}  // namespace sinew
