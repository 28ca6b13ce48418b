// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <vector>

namespace sinew::launch::service {

/// The resident bytes of these processes' descendants together, by process. What several share
/// counts several times.
std::map<pid_t, std::uint64_t> memory_in_use(std::vector<pid_t> const& roots);

}  // namespace sinew::launch::service
