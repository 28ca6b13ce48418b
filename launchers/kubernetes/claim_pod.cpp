// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/claim_pod.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <sinew/error.hpp>

#include "launchers/common/job_name.hpp"
#include "launchers/kubernetes/objects/pod_template.hpp"
#include "launchers/kubernetes/pod_table.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::kubernetes {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr auto start_patience = 5min;
constexpr int longest_life_s = 3600;

Json job_object(KubernetesOptions options, std::string const& job, std::string const& claim) {
    options.volumes = {{.claim = claim, .path = "/persistent", .read_only = false}};
    options.cpu = "100m";
    Json pods = pod_template(options, {.job = job,
                                       .command = {"sleep", std::to_string(longest_life_s)},
                                       .env = {},
                                       .ranks = 1,
                                       .gpus = 0,
                                       .grace_s = 1,
                                       .service_variables = false});
    // There is no Secret, and nothing to find.
    auto& spec = pods["spec"];
    spec.erase("subdomain");
    for (auto* list : {&spec["volumes"], &spec["containers"][0]["volumeMounts"]})
        for (auto at = list->begin(); at != list->end();)
            at = (*at)["name"] == "job" ? list->erase(at) : at + 1;
    return {{"apiVersion", "batch/v1"},
            {"kind", "Job"},
            {"metadata", {{"name", job}, {"labels", object_labels(options, job)}}},
            {"spec",
             {{"completionMode", "Indexed"},
              {"completions", 1},
              {"parallelism", 1},
              {"backoffLimit", 0},
              {"activeDeadlineSeconds", longest_life_s},
              {"ttlSecondsAfterFinished", 60},
              {"template", pods}}}};
}

}  // namespace

ClaimPod::ClaimPod(k8s::Client& client, KubernetesOptions const& options, std::string const& claim)
    : client_(client), job_(make_job_name("sinew-cp")), ns_(client.configuration().ns) {
    client_.call(k8s::create(k8s::jobs, job_object(options, job_, claim), ns_));
    try {
        wait();
    } catch (...) {
        remove();
        throw;
    }
}

ClaimPod::~ClaimPod() { remove(); }

void ClaimPod::remove() {
    try {
        client_.call(k8s::remove(k8s::jobs, job_, {}, ns_));
    } catch (Error const& error) {
        log_warning(text("job ", job_, " in namespace ", ns_, " could not be removed (",
                         error.what(), "); it ends by itself within an hour"));
    }
}

void ClaimPod::wait() {
    PodTable table(job_, 1);
    auto const note = [&](k8s::WatchEvent const& event) {
        if (event.failure) std::rethrow_exception(event.failure);
        if (event.object == nullptr) return;
        if (event.object->value("kind", "") == "Event") table.note(k8s::EventView(*event.object));
        else table.update(k8s::PodView(*event.object));
    };
    auto const pods = client_.watch(
        k8s::pods, {.ns = ns_, .label_selector = label_selector(job_), .field_selector = {}}, note);
    auto const done = [&] {
        auto const stage = table.stage(0);
        return stage == PodTable::Stage::running || stage == PodTable::Stage::ended;
    };
    client_.run_until(done, std::chrono::steady_clock::now() + start_patience);
    std::string why;
    for (auto const& line : table.troubles()) why += text("; ", line);
    if (table.stage(0) != PodTable::Stage::running)
        throw Timeout(text("the pod that mounts the claim does not run within 5 minutes (",
                           table.status(), ")", why));
    pod_ = table.pod(0)->name;
}

}  // namespace sinew::launch::kubernetes
