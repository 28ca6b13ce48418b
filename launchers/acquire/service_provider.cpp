// SPDX-License-Identifier: Apache-2.0
#include <sinew/error.hpp>
#include <utility>

#include "launchers/acquire/process_provider.hpp"
#include "launchers/common/own_path.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

// Less than the time after which ProcessProvider kills `sinew run`.
constexpr char grace_of_job[] = "3s";

std::string server_list(AcquireRequest const& request) {
    if (request.hosts.empty())
        throw UsageError(
            "backend service needs the machines of sinew serve. Name them, or a service, in "
            "NodesOptions::hosts");
    std::string all;
    for (auto const& host : request.hosts) all += text(all.empty() ? "" : ",", host);
    return all;
}

}  // namespace

std::unique_ptr<NodeProvider> make_service_provider(wire::Loop& loop, AcquireRequest const& request,
                                                    ProviderEvents events, int output_fd) {
    auto command = [request, servers = server_list(request)](int, std::string const& id) {
        std::vector<std::string> words{own_path(), "run", "--at",    servers,     "--quiet",
                                       "-n",       "1",   "--grace", grace_of_job};
        auto const add_flag = [&](char const* flag, std::string value) {
            words.emplace_back(flag);
            words.push_back(std::move(value));
        };
        if (request.gpu > 0) add_flag("--gpu", text(request.gpu));
        if (request.cpu > 0) add_flag("--cpu", text(request.cpu));
        if (request.memory_mib > 0) add_flag("--memory", text(request.memory_mib, "Mi"));
        if (request.priority != 0) add_flag("--priority", text(request.priority));
        if (request.time_limit.count() > 0)
            add_flag("--time-limit", text(request.time_limit.count(), "ms"));
        // Jobs have no standard input. By a variable the configuration travels encrypted, and reaches
        // nothing but files and processes of the server's user.
        for (auto const* name : {"SINEW_NODE_CONFIG", "SINEW_NODE_ID"}) add_flag("-x", name);
        words.insert(words.end(), request.command.begin(), request.command.end());
        return NodeCommand{
            .argv = std::move(words),
            .env = {text("SINEW_NODE_CONFIG=", request.configuration), text("SINEW_NODE_ID=", id)},
            .folder = request.folder,
            .is_agent = false,
            .outlives_agent = true,
            .is_client = true};
    };
    return std::make_unique<ProcessProvider>(loop, request, std::move(events), output_fd,
                                             std::move(command));
}

}  // namespace sinew::launch
