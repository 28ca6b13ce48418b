// SPDX-License-Identifier: Apache-2.0
#include "launchers/pods/root_discovery.hpp"

#include <sinew/error.hpp>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#if SINEW_HAVE_K8S
#include <chrono>
#include <nlohmann/json.hpp>

#include "k8s/client.hpp"
#include "k8s/objects/pod_view.hpp"
#include "launchers/kubernetes/objects/pod_template.hpp"
#include "src/wire/socket/address.hpp"
#endif

namespace sinew::launch {

#if SINEW_HAVE_K8S

std::vector<std::string> roots_by_api(std::string const& job, std::uint16_t port) {
    using namespace std::chrono_literals;
    std::vector<std::string> found;
    try {
        k8s::ClientOptions options;
        options.connect_timeout = options.attempt_timeout = options.call_timeout = 5s;
        k8s::Client client(k8s::find_configuration(), options);
        auto const answer = client.call(k8s::list(
            k8s::pods,
            {.ns = {}, .label_selector = kubernetes::label_selector(job), .field_selector = {}}));
        for (auto const& item : answer.value("items", nlohmann::json::array())) {
            k8s::PodView const pod(item);
            if (pod.index == 0 && !pod.finished() && !pod.deleting && !pod.ip.empty())
                found.push_back(wire::Address::tcp(pod.ip, port).text());
        }
    } catch (Error const& problem) {
        log_warning(text("--discovery api: ", problem.what()));
    }
    return found;
}

#else

std::vector<std::string> roots_by_api(std::string const&, std::uint16_t) {
    log_warning("--discovery api: this sinew was built without libcurl; SINEW_ROOT is used");
    return {};
}

#endif

}  // namespace sinew::launch
