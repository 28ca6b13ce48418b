// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <ostream>
#include <sinew/error.hpp>

#include "k8s/objects/job_view.hpp"
#include "launchers/cli/small_options.hpp"
#include "launchers/command_line/values.hpp"
#include "launchers/kubernetes/cluster.hpp"
#include "launchers/kubernetes/objects/job_objects.hpp"
#include "launchers/verbs/cluster/cluster_flags.hpp"
#include "launchers/verbs/cluster/cluster_verbs.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

namespace po = boost::program_options;

constexpr int most_pods = 100'000;
constexpr char scale_usage[] =
    "sinew scale JOB PODS [flags]: changes the number of pods of a job on a cluster\n\n"
    "  sinew scale train 8    the job is started again on 8 pods, with as many ranks each\n\n"
    "The job must have been started with --max-restarts; this restart does not count. It\n"
    "begins when the new pods have joined, or the removed ones have left.\n\n";

void scale(k8s::Client& client, std::string const& name, int pods) {
    auto const ns = client.configuration().ns;
    auto const job = client.call(k8s::get(k8s::jobs, name, ns));
    if (!job.value("spec", nlohmann::json::object()).contains("podFailurePolicy"))
        throw UsageError(text("job ", name,
                              " was started without --max-restarts, and changing its "
                              "number of pods starts it again. Start it with --max-restarts"));
    // The root reads it in its pod, within the minute that a kubelet takes to renew the file.
    client.call(k8s::patch(k8s::secrets, name, k8s::PatchType::merge,
                           nlohmann::json{{"stringData", {{"nodes", text(pods, "\n")}}}}, ns));
    client.call(k8s::patch(k8s::jobs, name, k8s::PatchType::merge,
                           nlohmann::json{{"spec", {{"completions", pods}, {"parallelism", pods}}}},
                           ns));
}

}  // namespace

int scale_main(std::vector<std::string> const& arguments, std::ostream& out) {
    po::options_description flags("flags");
    flags.add_options()("help,h", "this text");
    add_cluster_flags(flags);
    auto all = flags;
    all.add_options()("words", po::value<std::vector<std::string>>());
    auto const values = parse_small(arguments, all, "scale", "words");
    if (values.count("help") != 0) {
        out << scale_usage << flags;
        return 0;
    }
    auto const words = values.count("words") != 0 ? values["words"].as<std::vector<std::string>>()
                                                  : std::vector<std::string>();
    if (words.size() != 2)
        throw UsageError("a job and its number of pods are expected: sinew scale JOB PODS");
    auto const pods = parse_int(words[1], 1, most_pods);
    if (!pods)
        throw UsageError(text("PODS ", words[1], " (must be a number from 1 to ", most_pods, ")"));
    auto const client = kubernetes::open_cluster(cluster_options(values));
    scale(*client, words[0], *pods);
    out << "job " << words[0] << " shall have " << *pods << (*pods == 1 ? " pod\n" : " pods\n");
    return 0;
}

}  // namespace sinew::launch
