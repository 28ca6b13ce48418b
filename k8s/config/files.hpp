// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sinew::k8s {

/// The contents of a small file of configuration: at most 1 MiB. Throws UsageError that begins with
/// `what` and names the file and the reason.
std::string read_file(std::string const& path, std::string const& what);

bool file_exists(std::string const& path);

}  // namespace sinew::k8s
