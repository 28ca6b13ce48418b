// SPDX-License-Identifier: Apache-2.0
#include "launchers/acquire/kubernetes_provider.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <sinew/error.hpp>
#include <utility>

#include "k8s/api_error.hpp"
#include "launchers/common/host_name.hpp"
#include "launchers/common/job_name.hpp"
#include "launchers/kubernetes/cluster.hpp"
#include "launchers/kubernetes/objects/pod_template.hpp"
#include "src/base/env.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using namespace std::chrono_literals;

constexpr auto first_pause = 200ms;
constexpr std::chrono::milliseconds longest_pause = 10s;
constexpr int most_failures = 5;
constexpr auto release_patience = 20s;

std::chrono::milliseconds pause_after(int failures) {
    return std::min<std::chrono::milliseconds>(first_pause * (1 << std::min(failures, 10)),
                                               longest_pause);
}

std::string words_of(std::exception_ptr failure) {
    try {
        std::rethrow_exception(failure);
    } catch (std::exception const& error) {
        return error.what();
    }
}

bool is_about(std::exception_ptr failure, bool (k8s::ApiError::*what)() const noexcept) {
    try {
        std::rethrow_exception(failure);
    } catch (k8s::ApiError const& error) {
        return (error.*what)();
    } catch (std::exception const&) {
        return false;
    }
}

bool is_gone(std::exception_ptr failure) { return is_about(failure, &k8s::ApiError::not_found); }

// A quota may have room again later, and is not meant.
bool is_forbidden(std::exception_ptr failure) {
    return is_about(failure, &k8s::ApiError::forbidden);
}

// An object may be deleted while the node of its pod does not answer, and the pod runs on.
bool has_certainly_ended(k8s::PodView const& pod) {
    auto const* container = pod.container(kubernetes::container_name);
    return container != nullptr && container->state == k8s::ContainerView::State::terminated;
}

// The pod's name is its host name, unless its template says otherwise.
std::string own_pod_name() { return env("SINEW_POD_NAME").value_or(host_name()); }

}  // namespace

KubernetesProvider::KubernetesProvider(wire::Loop& loop, AcquireRequest const& request,
                                       ProviderEvents events)
    : loop_(loop), events_(std::move(events)), count_(request.count),
      configuration_(request.configuration), request_{.group = make_job_name(request.name),
                                                      .command = request.command,
                                                      .folder = request.folder,
                                                      .env = request.env,
                                                      .image = request.image,
                                                      .cpu = request.cpu,
                                                      .gpu = request.gpu,
                                                      .memory_mib = request.memory_mib} {
    if (::getenv("KUBERNETES_SERVICE_HOST") == nullptr)
        throw UsageError(
            "backend kubernetes works in a pod only, as pods must be able to connect "
            "to this process. Run the program by sinew run --backend kubernetes "
            "--service-account sinew-pods");
    try {
        client_ = kubernetes::open_cluster({});
    } catch (UsageError const& problem) {
        throw UsageError(text("this pod cannot ask for others (", problem.what(),
                              "). Start it with --service-account sinew-pods, whose rights are in "
                              "k8s/manifests/pods-role.yaml"));
    }
    ns_ = client_->configuration().ns;
}

KubernetesProvider::~KubernetesProvider() = default;

void KubernetesProvider::start() {
    auto const name = own_pod_name();
    try {
        own_ = client_->call(k8s::get(k8s::pods, name, ns_));
    } catch (k8s::ApiError const& error) {
        if (!error.not_found()) throw;
        throw UsageError(text("there is no pod ", name, " in namespace ", ns_,
                              " (the nodes are made like the pod that asks). Set SINEW_POD_NAME "
                              "to its name, by the downward API"));
    }
    client_->call(k8s::create(
        k8s::secrets, kubernetes::worker_secret(own_, request_.group, configuration_), ns_));
    dispatching_ = loop_.readable(client_->fd(), [this] { client_->dispatch(); });
    watch_ = client_->watch(k8s::pods,
                            {.ns = ns_,
                             .label_selector = kubernetes::label_selector(request_.group),
                             .field_selector = {}},
                            [this](k8s::WatchEvent const& event) { on_pod(event); });
    events_.ready();
    resize(count_);
}

void KubernetesProvider::resize(int count) {
    if (releasing_) return;
    count_ = count;
    for (auto at = slots_.lower_bound(count); at != slots_.end(); at = slots_.erase(at))
        if (!at->second.pod.empty()) remove_pod(at->second.pod);
    for (int index = 0; index < count; ++index)
        if (!slots_.contains(index)) create(index);
}

void KubernetesProvider::create(int index) {
    auto& slot = slots_[index];
    slot.pause = {};
    slot.has_joined = false;
    slot.told.clear();
    slot.pod = make_job_name(text(request_.group, "-", index));
    auto const pod = kubernetes::worker_pod(own_, request_, slot.pod);
    slot.creating = client_->start(k8s::create(k8s::pods, pod, ns_),
                                   [this, index](std::exception_ptr failure, auto const&) {
                                       if (!failure) return;
                                       auto const why = words_of(failure);
                                       if (is_forbidden(failure)) fail(why);
                                       else replace(index, why);
                                   });
}

// Another pod takes the place of one that is lost. Whether the processes of that one have ended, the
// program must know otherwise.
void KubernetesProvider::replace(int index, std::string const& why) {
    auto const at = slots_.find(index);
    if (at == slots_.end() || releasing_) return;
    auto& slot = at->second;
    auto const pod = std::exchange(slot.pod, {});
    if (!slot.has_joined) events_.state(pod, "gone", why);
    slot.failures = slot.has_joined ? 0 : slot.failures + 1;
    if (slot.failures >= most_failures)
        return fail(
            text(most_failures, " pods in a row have not joined; the last, ", pod, ": ", why));
    auto const pause = slot.has_joined ? 0ms : pause_after(slot.failures);
    slot.pause = client_->after(pause, [this, index] { create(index); });
}

KubernetesProvider::Slot* KubernetesProvider::find(std::string const& pod, int* index) {
    for (auto& [number, slot] : slots_) {
        if (slot.pod != pod || pod.empty()) continue;
        if (index != nullptr) *index = number;
        return &slot;
    }
    return nullptr;
}

void KubernetesProvider::on_pod(k8s::WatchEvent const& event) {
    using Type = k8s::WatchEvent::Type;
    if (event.type == Type::failed)
        return fail(text("pods cannot be watched: ", words_of(event.failure)));
    if (event.type == Type::synced) return;
    k8s::PodView const pod(*event.object);
    bool const deleted = event.type == Type::deleted;
    if (deleted) pods_.erase(pod.name);
    else pods_[pod.name] = true;
    if (releasing_) return tell_if_released();
    int index = 0;
    auto* slot = find(pod.name, &index);
    if (!deleted && !pod.finished() && !pod.deleting) {
        if (slot != nullptr) note_state(*slot, pod);
        return;
    }
    auto why = pod.trouble();
    if (why.empty()) why = deleted || pod.deleting ? "deleted" : "ended";
    if (slot != nullptr) {
        if (!deleted) remove_pod(pod.name);
        replace(index, why);
    }
    if (has_certainly_ended(pod)) events_.state(pod.name, "gone", why);
}

void KubernetesProvider::note_state(Slot& slot, k8s::PodView const& pod) {
    auto const* container = pod.container(kubernetes::container_name);
    bool const runs =
        container != nullptr && container->state == k8s::ContainerView::State::running;
    std::string const state = runs ? "running" : pod.node.empty() ? "waiting" : "pulling";
    auto const reason = pod.trouble();
    if (auto told = text(state, " ", reason); told != slot.told) {
        slot.told = std::move(told);
        events_.state(pod.name, state, reason);
    }
}

void KubernetesProvider::joined(std::string const& node) {
    if (auto* slot = find(node)) {
        slot->has_joined = true;
        slot->failures = 0;
    }
}

void KubernetesProvider::lost(std::string const& node) {
    int index = 0;
    if (find(node, &index) == nullptr) return;
    remove_pod(node);
    replace(index, "its link was lost");
}

void KubernetesProvider::remove_pod(std::string const& pod) {
    k8s::DeleteOptions options;
    if (!releasing_) options.grace_period = 1s;
    ending_[pod] = client_->start(
        k8s::remove(k8s::pods, pod, options, ns_),
        [this, pod](std::exception_ptr failure, auto const&) {
            if (failure && !is_gone(failure))
                log_warning(text("pod ", pod, " could not be deleted: ", words_of(failure)));
            if (failure) pods_.erase(pod);
            ending_.erase(pod);
            if (releasing_) tell_if_released();
        });
}

void KubernetesProvider::fail(std::string const& why) { events_.failed(why); }

// What remains belongs to the pod of the program, and is deleted with that.
void KubernetesProvider::release() {
    if (std::exchange(releasing_, true)) return;
    std::map<std::string, bool> pods = pods_;
    for (auto& [index, slot] : slots_)
        if (!slot.pod.empty()) pods[slot.pod] = true;
    slots_.clear();
    for (auto const& [pod, exists] : pods)
        if (!ending_.contains(pod)) remove_pod(pod);
    if (!own_.is_null())
        ending_["secret " + request_.group] =
            client_->start(k8s::remove(k8s::secrets, request_.group, {}, ns_),
                           [this](std::exception_ptr failure, auto const&) {
                               if (failure && !is_gone(failure))
                                   log_warning(text("Secret ", request_.group,
                                                    " could not be deleted: ", words_of(failure)));
                               ending_.erase("secret " + request_.group);
                               tell_if_released();
                           });
    release_timer_ = loop_.after(release_patience, [this] {
        pods_.clear();
        ending_.clear();
        tell_if_released();
    });
    tell_if_released();
}

void KubernetesProvider::tell_if_released() {
    if (!pods_.empty() || !ending_.empty() || std::exchange(told_released_, true)) return;
    watch_ = {};
    events_.released();
}

std::unique_ptr<NodeProvider> make_kubernetes_provider(wire::Loop& loop,
                                                       AcquireRequest const& request,
                                                       ProviderEvents events, int) {
    return std::make_unique<KubernetesProvider>(loop, request, std::move(events));
}

}  // namespace sinew::launch
