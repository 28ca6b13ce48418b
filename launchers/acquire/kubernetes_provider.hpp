// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "k8s/client.hpp"
#include "k8s/objects/pod_view.hpp"
#include "launchers/acquire/node_provider.hpp"
#include "launchers/kubernetes/objects/worker_pod.hpp"

namespace sinew::launch {

/// Nodes that are pods, like the pod in which the program runs. They belong to that pod.
///
/// A pod that ends or is deleted is replaced: at once if its agent had joined, else after a pause
/// that doubles from 0.2 s up to 10 s. After five that have not joined in a row it is given up.
class KubernetesProvider final : public NodeProvider {
public:
    KubernetesProvider(wire::Loop& loop, AcquireRequest const& request, ProviderEvents events);
    KubernetesProvider(KubernetesProvider const&) = delete;
    ~KubernetesProvider() override;
    void start() override;
    void resize(int count) override;
    void joined(std::string const& node) override;
    void lost(std::string const& node) override;
    void release() override;

private:
    struct Slot {
        std::string pod;   ///< empty: it is being replaced
        int failures = 0;  ///< pods in a row that have not joined
        bool has_joined = false;
        std::string told;  ///< state and reason, as reported
        k8s::Registration creating, pause;
    };
    void create(int index);
    void replace(int index, std::string const& why);
    void on_pod(k8s::WatchEvent const& event);
    void note_state(Slot& slot, k8s::PodView const& pod);
    Slot* find(std::string const& pod, int* index = nullptr);
    void remove_pod(std::string const& pod);
    void fail(std::string const& why);
    void tell_if_released();

    wire::Loop& loop_;
    ProviderEvents const events_;
    int count_;
    std::string const configuration_;
    kubernetes::WorkerRequest request_;
    std::string ns_;
    nlohmann::json own_;
    std::unique_ptr<k8s::Client> client_;
    wire::Loop::Handle dispatching_, release_timer_;
    k8s::Watch watch_;
    std::map<int, Slot> slots_;                        ///< by index
    std::map<std::string, k8s::Registration> ending_;  ///< pods that are being deleted
    std::map<std::string, bool> pods_;                 ///< those that exist
    bool releasing_ = false, told_released_ = false;
};

std::unique_ptr<NodeProvider> make_kubernetes_provider(wire::Loop& loop,
                                                       AcquireRequest const& request,
                                                       ProviderEvents events, int output_fd);

}  // namespace sinew::launch
