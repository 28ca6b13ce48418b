// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <ostream>
#include <sinew/error.hpp>

#include "k8s/objects/event_view.hpp"
#include "launchers/cli/small_options.hpp"
#include "launchers/common/timestamp.hpp"
#include "launchers/kubernetes/cluster.hpp"
#include "launchers/verbs/cluster/cluster_flags.hpp"
#include "launchers/verbs/cluster/cluster_verbs.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

namespace po = boost::program_options;

constexpr char events_usage[] =
    "sinew events JOB [flags]: what the cluster reports about a job and its pods\n\n"
    "  sinew events train            the events that the cluster still has, by time\n"
    "  sinew events train -f         and those that follow, until Ctrl-C\n"
    "  sinew events train --warnings only what went wrong\n\n"
    "Clusters keep events for an hour.\n\n";

// The Job itself, or one of its pods, "train-3-x7k2p".
bool is_of(k8s::EventView const& event, std::string const& job) {
    if (event.object_name == job) return true;
    return event.object_kind == "Pod" && event.object_name.starts_with(job + "-");
}

void show(k8s::EventView const& event, std::ostream& out) {
    out << (event.last_seen ? timestamp(*event.last_seen) : std::string("-")) << ' ' << event.type
        << ' ' << event.object_name << ' ' << event.reason
        << (event.count > 1 ? text(" (", event.count, " times)") : "") << ": " << event.message
        << '\n'
        << std::flush;
}

}  // namespace

int events_main(std::vector<std::string> const& arguments, std::ostream& out) {
    po::options_description flags("flags");
    flags.add_options()("help,h", "this text")("follow,f", "go on until Ctrl-C")("warnings",
                                                                                 "only warnings");
    add_cluster_flags(flags);
    auto all = flags;
    all.add_options()("job", po::value<std::vector<std::string>>());
    auto const values = parse_small(arguments, all, "events", "job");
    if (values.count("help") != 0) {
        out << events_usage << flags;
        return 0;
    }
    if (values.count("job") == 0 || values["job"].as<std::vector<std::string>>().size() != 1)
        throw UsageError("one job is expected: sinew events JOB. sinew ps lists them");
    auto const job = values["job"].as<std::vector<std::string>>().front();
    bool const warnings = values.count("warnings") != 0;
    auto const client = kubernetes::open_cluster(cluster_options(values));
    k8s::Selection const selection{
        .ns = {}, .label_selector = {}, .field_selector = warnings ? "type=Warning" : ""};
    std::vector<k8s::EventView> seen;
    bool synced = false;
    auto const watch =
        client->watch(k8s::core_events, selection, [&](k8s::WatchEvent const& change) {
            using Type = k8s::WatchEvent::Type;
            if (change.type == Type::failed) std::rethrow_exception(change.failure);
            if (change.type == Type::synced) synced = true;
            if (!change.object || change.type == Type::deleted) return;
            k8s::EventView event(*change.object);
            if (!is_of(event, job)) return;
            if (synced) show(event, out);
            else seen.push_back(std::move(event));
        });
    using Clock = std::chrono::steady_clock;
    if (!client->run_until([&] { return synced; }, Clock::now() + std::chrono::minutes(2)))
        throw Timeout("the API server has not listed the events within 2 minutes. Try again");
    std::stable_sort(seen.begin(), seen.end(),
                     [](auto const& a, auto const& b) { return a.last_seen < b.last_seen; });
    for (auto const& event : seen) show(event, out);
    while (values.count("follow") != 0)
        client->run_until([] { return false; }, Clock::now() + std::chrono::hours(1));
    return 0;
}

}  // namespace sinew::launch
