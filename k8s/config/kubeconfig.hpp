// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "k8s/config/configuration.hpp"

namespace sinew::k8s {

/// Reads one or more kubeconfigs, merged as kubectl merges them: of each name the first file that has
/// it counts, and the first current-context. Names of files in them are relative to their file. Each
/// pair is a file's path and text. Throws UsageError.
Configuration read_kubeconfig(std::vector<std::pair<std::string, std::string>> const& files,
                              ConfigurationChoice const& choice);

}  // namespace sinew::k8s
