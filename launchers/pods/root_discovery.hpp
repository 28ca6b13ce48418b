// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sinew::launch {

/// Asks the API server, with the service account of this pod, for the address of the pod of index 0
/// of a job (--discovery api). Empty if there is none now, or if the server does not answer within
/// some seconds, which is logged.
std::vector<std::string> roots_by_api(std::string const& job, std::uint16_t port);

}  // namespace sinew::launch
