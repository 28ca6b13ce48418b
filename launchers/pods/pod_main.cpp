// SPDX-License-Identifier: Apache-2.0
#include "launchers/pods/pod_main.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <memory>
#include <sinew/error.hpp>
#include <utility>

#include "launchers/agent/init_process.hpp"
#include "launchers/agent/rank_environment.hpp"
#include "launchers/backends/pods.hpp"
#include "launchers/command_line/parse.hpp"
#include "launchers/common/exit_codes.hpp"
#include "launchers/common/host_name.hpp"
#include "launchers/job/job_run.hpp"
#include "launchers/job/summary/summary_file.hpp"
#include "launchers/pods/pod_agent.hpp"
#include "launchers/pods/pod_config.hpp"
#include "launchers/pods/pod_identity.hpp"
#include "src/base/log.hpp"
#include "src/base/system/secret_file.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

struct Pod {
    std::string config_path;
    PodConfig config;
    PodIdentity identity;
    RunOptions options;
};

// The codes by which a pod is replaced are not for a job that has ended.
int exit_code_of_job(int code) {
    return code == exit_replace || code == 128 + SIGKILL || code == 128 + SIGTERM ? 1 : code;
}

RunOptions options_of(PodConfig const& config) {
    auto options = parse_run(config.run, ProcessContext::of_process());
    if (options.help || options.version || options.dry_run)
        throw UsageError("the key run asks for help, the version or a dry run, not for a job");
    if (!options.hosts.empty() || options.fake_nodes > 0 || options.backend != "auto")
        throw UsageError("the key run names hosts or a backend (the pods are the job's hosts)");
    options.nodes = config.nodes;
    options.output = OutputFormat::json;
    return options;
}

// Other pods reach this one at the pod's address, not at that by which it reaches its own root.
std::string address_of(PodIdentity const& identity) {
    if (!identity.address.empty()) return identity.address;
    auto const found = wire::interfaces();
    return found.empty() || found.front().loopback ? "" : found.front().address;
}

Node node_of(PodIdentity const& identity, int index) {
    auto const name = identity.name_of(index);
    return {.name = name, .host = name, .slots = 0, .max_slots = 0, .cores = 0, .place = {}};
}

JobRun::Arranged arranged(Pod const& pod) {
    int const count = read_wanted_nodes(pod.config_path).value_or(pod.config.nodes);
    JobRun::Arranged all{
        .backend = make_pods(),
        .job = pod.config.job,
        .secret = wire::Secret::from_hex(pod.config.secret),
        .port = pod.config.port,
        .address = address_of(pod.identity),
        .first_nodes = pod.config.nodes,
        .nodes = {},
        .wanted = [path = pod.config_path] { return read_wanted_nodes(path); },
        .node = [identity = pod.identity](int index) { return node_of(identity, index); }};
    for (int index = 0; index < count; ++index) all.nodes.push_back(node_of(pod.identity, index));
    all.nodes.front().place = pod.identity.place;
    return all;
}

int run_root(Pod const& pod) {
    ::signal(SIGPIPE, SIG_IGN);
    try {
        JobRun run(pod.options, arranged(pod));
        int const code = run.run();
        return run.handed_over() ? exit_replace : exit_code_of_job(code);
    } catch (std::exception const& problem) {
        log_warning(problem.what());
        write_summary(pod.options.summary_file,
                      {.exit_code = exit_launcher_failed, .cause = problem.what(), .restarts = 0});
        return exit_launcher_failed;
    }
}

Pod read_pod(std::string const& path) {
    auto line = read_secret_file(path);
    Pod pod{.config_path = path, .config = parse_pod_config(line), .identity = {}, .options = {}};
    wipe(line);
    pod.identity = pod_identity(own_variables(), host_name());
    drop_pod_variables();
    // Where the cluster does not label its pods, the client has written down its nodes' labels.
    auto& place = pod.identity.place;
    if (place.region.empty() && place.zone.empty() && place.block.empty() && place.rack.empty())
        place = place_in_file(path, place.machine);
    try {
        pod.options = options_of(pod.config);
    } catch (UsageError const& problem) {
        if (pod.identity.index == 0)
            write_summary(pod.identity.termination_log,
                          {.exit_code = exit_usage, .cause = problem.what(), .restarts = 0});
        throw;
    }
    if (pod.identity.index == 0) pod.options.summary_file = pod.identity.termination_log;
    return pod;
}

}  // namespace

bool is_for_pod(std::vector<std::string> const& arguments) {
    if (arguments.size() != 2 || arguments[0] != "--config") return false;
    try {
        auto line = read_secret_file(arguments[1]);
        bool const found = is_pod_config(line);
        wipe(line);
        return found;
    } catch (std::exception const&) {
        return false;  // whoever reads it next, says why
    }
}

int pod_main(std::vector<std::string> const& arguments) {
    auto pod = read_pod(arguments.at(1));
    bool const first = pod.identity.index == 0;
    // Nobody writes to the standard input of a container's process 1.
    if (!first) {
        UniqueFd const null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        ::dup2(null.get(), STDIN_FILENO);
    }
    remove_stale_folders();
    // Random, since the pods of a test share a host, and a pod may follow another of its index.
    auto const random = wire::Secret::random().hex().substr(0, 6);
    JobFolder folder(text(pod.config.job, "-pod-", pod.identity.index, "-", random));
    int const code = guarded(folder, pod.identity.name, [&] {
        return first ? run_root(pod)
                     : PodAgent(pod.config, pod.identity, pod.options, folder).run();
    });
    return first || code == 0 || code == exit_replace ? code : 1;
}

}  // namespace sinew::launch
