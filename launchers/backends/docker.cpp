// SPDX-License-Identifier: Apache-2.0
#include "launchers/backends/docker.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <iostream>
#include <optional>
#include <sinew/error.hpp>
#include <utility>

#include "launchers/command_line/options.hpp"
#include "launchers/common/copy_layout.hpp"
#include "launchers/common/own_path.hpp"
#include "launchers/common/quantity.hpp"
#include "launchers/docker/host.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

constexpr std::int64_t default_shm = std::int64_t{1} << 30;

int ranks_of(RunOptions const& options) {
    int ranks = 0;
    for (auto const& app : options.apps) ranks += app.ranks;
    return ranks;
}

// The most ranks that a container gets; 0: as many as it has processors.
int ranks_of_container(RunOptions const& options) {
    int const containers = std::max(options.nodes, 1);
    if (options.per_node > 0) return options.per_node;
    return (ranks_of(options) + containers - 1) / containers;
}

class Docker final : public Backend {
public:
    explicit Docker(RunOptions const& options) : options_(options) {}

    std::string_view name() const override { return "docker"; }
    int window() const override { return 16; }
    bool on_this_host() const override { return false; }
    bool has_our_files() const override { return false; }
    bool shares_folder(std::string const& folder) const override {
        return is_seen(folder, options_.docker.mounts);
    }

    void prepare(std::string const& job) override {
        folder_ = docker::copy_command_folder();
        job_.emplace(docker::JobHost::Wish{.job = job,
                                           .image = options_.kubernetes.image,
                                           .pull = options_.kubernetes.image_pull_policy,
                                           .network = options_.docker.network},
                     [quiet = options_.verbosity < 0](std::string const& line) {
                         if (!quiet) std::cerr << "sinew: " << line << std::endl;
                     });
        name_ = job;
    }

    std::vector<std::string> root_hosts() const override {
        if (!job_ || job_->gateway().empty()) return {};
        return {job_->gateway()};
    }

    AgentProcess command(AgentStart const& start) const override {
        auto spec = job_->spec();
        // Another takes its place after a restart, while it may still be there.
        spec.name = text("sinew-", name_, "-", start.node, "-", ::getpid(), ".", started_++);
        spec.hostname = start.host;
        spec.command = {text(docker::command_target, "/", copy_start), "agent"};
        spec.mounts = options_.docker.mounts;
        spec.mounts.push_back(
            {.source = folder_, .target = docker::command_target, .read_only = true});
        spec.user = options_.docker.user;
        spec.shm = shm();
        limit(spec);
        give_gpus(spec, start.node);
        for (auto const& [key, value] : options_.kubernetes.labels) spec.labels.emplace(key, value);
        spec.labels[docker::node_label] = std::to_string(start.node);
        spec.labels[docker::ranks_label] = std::to_string(ranks_of(options_));
        auto const& words = options_.apps.front().argv;
        spec.labels[docker::command_label] = words.front();
        // A working folder of this host means something only where it is mounted.
        if (shares_folder(options_.folder)) spec.folder = options_.folder;
        return {.argv = {own_path(), "container", docker::spec_text(spec)}};
    }

    std::string explain(int exit_code, std::string_view words) const override {
        auto const says = [&](char const* what) { return words.find(what) != words.npos; };
        if (says("cannot reach sinew run"))
            return "Containers must be able to connect to this host: check its firewall, or name "
                   "an address by --root-address";
        if (exit_code == 137 || says("memory"))
            return "It may have used up its --memory, or was killed by another";
        if (says("container engine")) return "docker info shows whether the engine works";
        return "The last lines of its standard error are above, if it wrote any";
    }

private:
    std::int64_t shm() const {
        auto const& given = options_.kubernetes.shm;
        return given.empty() ? default_shm : std::llround(amount_of(given));
    }

    // --cpu and --memory are of each rank.
    void limit(docker::ContainerSpec& spec) const {
        int const ranks = std::max(ranks_of_container(options_), 1);
        auto const& wish = options_.kubernetes;
        if (wish.cpu_given) spec.nano_cpus = std::llround(amount_of(wish.cpu) * 1e9 * ranks);
        if (!wish.memory.empty()) spec.memory = std::llround(amount_of(wish.memory)) * ranks;
    }

    // Containers of one host have GPUs of their own; the engine does not share them out.
    void give_gpus(docker::ContainerSpec& spec, int node) const {
        spec.all_gpus = options_.docker.gpus == "all";
        int const each = options_.gpus * std::max(ranks_of_container(options_), 1);
        for (int i = 0; i < each && !spec.all_gpus; ++i)
            spec.gpus.push_back(std::to_string(node * each + i));
    }

    RunOptions const options_;
    std::optional<docker::JobHost> job_;
    std::string folder_, name_;
    mutable int started_ = 0;
};

}  // namespace

std::unique_ptr<Backend> make_docker(RunOptions const& options) {
    if (options.kubernetes.image.empty())
        throw UsageError(
            "backend docker needs the image that has the program. Name it by --image or "
            "SINEW_IMAGE");
    bool const limits =
        options.gpus > 0 || options.kubernetes.cpu_given || !options.kubernetes.memory.empty();
    if (limits && ranks_of_container(options) == 0)
        throw UsageError(
            "--gpu, --cpu and --memory are of each rank, and the container must get those of all. "
            "Say -n or -N");
    return std::make_unique<Docker>(options);
}

std::string docker_unusable(RunOptions const& options) {
    if (!options.hosts.empty() || options.fake_nodes > 0)
        return "containers run on this host. Say --nodes COUNT for several of them, instead of "
               "hosts";
    if (!options.launch_agent.empty())
        return "agents are started in containers, not by --launch-agent";
    if (!options.accelerate.empty())
        return "--accelerate is for programs of this host. Put libsinew_mpi.so into the image and "
               "say -x LD_PRELOAD=PATH";
    if (options.docker.network == "none")
        return "--network none lets no container connect to this host";
    auto const socket = docker::engine_socket();
    if (::access(socket.c_str(), F_OK) != 0)
        return text("there is no container engine at ", socket, " (", std::strerror(errno),
                    "). Start one, or name its socket by DOCKER_HOST=unix:///PATH");
    return {};
}

}  // namespace sinew::launch
