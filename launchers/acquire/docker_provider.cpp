// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <memory>
#include <sinew/error.hpp>
#include <utility>

#include "launchers/acquire/process_provider.hpp"
#include "launchers/common/bind_mount.hpp"
#include "launchers/common/job_name.hpp"
#include "launchers/common/own_path.hpp"
#include "launchers/docker/host.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

constexpr std::int64_t node_shm = std::int64_t{1} << 30;

std::vector<BindMount> mounts_of(AcquireRequest const& request) {
    std::vector<BindMount> mounts;
    for (auto const& words : request.mounts) mounts.push_back(parse_bind_mount(words, "the mount"));
    return mounts;
}

}  // namespace

std::unique_ptr<NodeProvider> make_docker_provider(wire::Loop& loop, AcquireRequest const& request,
                                                   ProviderEvents events, int output_fd) {
    if (request.image.empty())
        throw UsageError(
            "backend docker needs an image that has this program. Name it in NodesOptions::image "
            "or "
            "SINEW_IMAGE");
    auto const mounts = mounts_of(request);
    auto const job = make_job_name(request.name);
    auto const say = [&](std::string const& line) {
        events.state(text(request.name, "-0"), "pulling", line);
    };
    // It lives as long as the function that makes the containers.
    auto const host = std::make_shared<docker::JobHost>(
        docker::JobHost::Wish{.job = job, .image = request.image, .pull = {}, .network = {}}, say);
    auto command = [request, mounts, job, host](int index, std::string const& id) {
        auto spec = host->spec();
        spec.name = text("sinew-", job, "-", id, "-", ::getpid());
        spec.hostname = text(request.name, "-", index);
        spec.command = request.command;
        spec.env = {"SINEW_NODE_CONFIG=-", text("SINEW_NODE_ID=", id),
                    text("SINEW_NODE_INDEX=", index), text("SINEW_NODE_NAME=", spec.hostname)};
        spec.mounts = mounts;
        if (is_seen(request.folder, mounts)) spec.folder = request.folder;
        spec.nano_cpus = std::int64_t{request.cpu} * 1'000'000'000;
        spec.memory = static_cast<std::int64_t>(request.memory_mib) << 20;
        spec.shm = node_shm;
        for (int i = 0; i < request.gpu; ++i)
            spec.gpus.push_back(std::to_string(index * request.gpu + i));
        spec.labels[docker::node_label] = std::to_string(index);
        spec.labels[docker::command_label] = request.command.front();
        return NodeCommand{.argv = {own_path(), "container", docker::spec_text(spec)},
                           .env = {},
                           .folder = {},
                           .is_agent = false,
                           .outlives_agent = true};
    };
    return std::make_unique<ProcessProvider>(loop, request, std::move(events), output_fd,
                                             std::move(command));
}

}  // namespace sinew::launch
