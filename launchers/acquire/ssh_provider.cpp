// SPDX-License-Identifier: Apache-2.0
#include <sinew/error.hpp>
#include <utility>

#include "launchers/acquire/process_provider.hpp"
#include "launchers/backends/ssh.hpp"
#include "launchers/command_line/hosts/allocation.hpp"
#include "launchers/command_line/parse.hpp"
#include "launchers/common/host_name.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

/// The hosts, and how to start a program there.
struct Hosts {
    std::vector<std::string> names;
    std::string given_template;  ///< of the request
};

Hosts hosts_of(AcquireRequest const& request) {
    Hosts found{.names = request.hosts, .given_template = request.launch_agent};
    if (!found.names.empty()) return found;
    auto const allocation = find_allocation(ProcessContext::of_process());
    if (!allocation || allocation->hosts.empty())
        throw UsageError(
            "backend ssh needs hosts (none are named, and there is no allocation of a batch "
            "system). Name them in NodesOptions::hosts");
    for (auto const& each : allocation->hosts) found.names.push_back(each.host);
    return found;
}

}  // namespace

std::unique_ptr<NodeProvider> make_ssh_provider(wire::Loop& loop, AcquireRequest const& request,
                                                ProviderEvents events, int output_fd) {
    auto command = [request, hosts = hosts_of(request)](int index, std::string const& id) {
        auto const& host = hosts.names[static_cast<std::size_t>(index) % hosts.names.size()];
        std::vector<std::string> words{"env", "SINEW_NODE_CONFIG=-", text("SINEW_NODE_ID=", id),
                                       text("SINEW_NODE_NAME=", host)};
        words.insert(words.end(), request.command.begin(), request.command.end());
        AgentStart const start{.node = index, .host = host, .configuration = {}};
        if (!hosts.given_template.empty())
            return NodeCommand{.argv = fill_template(hosts.given_template, start, words),
                               .env = {},
                               .folder = request.folder};
        if (is_this_host(host))
            return NodeCommand{
                .argv = words, .env = {}, .folder = request.folder, .is_agent = true};
        return NodeCommand{
            .argv = ssh_command(host, in_folder(request.folder, words)), .env = {}, .folder = {}};
    };
    return std::make_unique<ProcessProvider>(loop, request, std::move(events), output_fd,
                                             std::move(command));
}

}  // namespace sinew::launch
