// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "launchers/acquire/process_provider.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

std::unique_ptr<NodeProvider> make_local_provider(wire::Loop& loop, AcquireRequest const& request,
                                                  ProviderEvents events, int output_fd) {
    auto command = [request](int index, std::string const& id) {
        return NodeCommand{.argv = request.command,
                           .env = {"SINEW_NODE_CONFIG=-", text("SINEW_NODE_ID=", id),
                                   text("SINEW_NODE_INDEX=", index),
                                   text("SINEW_NODE_NAME=", request.name, "-", index)},
                           .folder = request.folder,
                           .is_agent = true};
    };
    return std::make_unique<ProcessProvider>(loop, request, std::move(events), output_fd,
                                             std::move(command));
}

}  // namespace sinew::launch
