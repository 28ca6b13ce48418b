// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace sinew::k8s {

/// Of a pod or a job. "True", "False" or "Unknown" is the status.
struct Condition {
    std::string type, status, reason, message;
    std::optional<std::chrono::system_clock::time_point> since = {};
};

struct ContainerView {
    enum class State { unknown, waiting, running, terminated };

    std::string name;
    bool init = false;  ///< an init container
    bool ready = false;
    int restarts = 0;
    State state = State::unknown;
    std::string reason, message;  ///< of waiting ("ImagePullBackOff") or terminated ("OOMKilled")
    std::optional<int> exit_code = {}, signal = {};  ///< of terminated
    std::optional<std::chrono::system_clock::time_point> started = {}, finished = {};
    /// Of the run before the restart, if there was one.
    std::optional<int> last_exit_code = {};
    std::string last_reason = {};
};

/// What launchers read of a Pod. Members that are absent, or not what the API says, are empty.
struct PodView {
    explicit PodView(nlohmann::json const& pod);

    std::string name, ns, uid, resource_version;
    std::optional<int> index;     ///< completion index of an Indexed Job
    std::string phase;            ///< "Pending", "Running", "Succeeded", "Failed", "Unknown"
    std::string reason, message;  ///< of the pod: "Evicted", "NodeLost"
    std::string node, ip;
    std::vector<std::string> ips;
    std::vector<Condition> conditions;
    std::vector<ContainerView> containers;  ///< init containers first
    bool deleting = false;                  ///< has a deletionTimestamp
    std::optional<std::chrono::system_clock::time_point> created, started;

    Condition const* condition(std::string_view type) const;
    ContainerView const* container(std::string_view of_name) const;
    bool ready() const;
    bool finished() const { return phase == "Succeeded" || phase == "Failed"; }
    /// The condition DisruptionTarget, if it is true: preempted, evicted, drained.
    Condition const* disruption() const;
    /// Why the pod does not run, or has ended, in one line for users: "ImagePullBackOff (init
    /// container sinew): ...", "Unschedulable: 0/4 nodes ...", "OOMKilled (exit code 137)". Empty if
    /// there is nothing to say.
    std::string trouble() const;
};

}  // namespace sinew::k8s
