// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinew::launch {

/// What every pod of a job reads from the file of `sinew agent --config`: one line of JSON in a
/// Secret that is mounted. The agents of pods come by themselves; the first pod has the root, too.
struct PodConfig {
    std::string job;               ///< its name: letters and digits
    std::string secret;            ///< hex
    int nodes = 0;                 ///< the number of pods for which the job was meant
    std::uint16_t port = 0;        ///< of the root
    std::string discovery;         ///< how the pods find it: vip, dns or api
    std::vector<std::string> run;  ///< the arguments of `sinew run` for the root, without --backend
    std::chrono::milliseconds root_patience{};  ///< how long a pod waits for a root
};

/// Throws UsageError naming the key, and what was expected; never quotes a value, as the line holds
/// a secret.
PodConfig parse_pod_config(std::string_view line);

/// Whether the line is such a configuration, and not that of one agent; it may still be invalid.
bool is_pod_config(std::string_view line);

/// The number of nodes that the file `nodes` beside the configuration asks for at present; nothing
/// if there is no such file, or if it does not hold a number from 1 to 100000.
std::optional<int> read_wanted_nodes(std::string const& config_path);

}  // namespace sinew::launch
