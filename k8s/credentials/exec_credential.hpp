// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "k8s/config/configuration.hpp"
#include "k8s/http/transfer.hpp"

namespace sinew::k8s {

/// What a plugin printed.
struct ExecCredential {
    Identity identity;
    std::optional<std::chrono::system_clock::time_point> expires = {};
};

/// Parses a plugin's output. Throws UsageError that says what is wrong, without the output, which
/// may contain secrets.
ExecCredential parse_exec_credential(std::string_view output, ExecPlugin const& plugin);

/// The value of KUBERNETES_EXEC_INFO for the plugin.
std::string exec_info(ExecPlugin const& plugin, ClusterAddress const& cluster, bool interactive);

}  // namespace sinew::k8s
