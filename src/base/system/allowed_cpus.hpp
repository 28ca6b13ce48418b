// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew {

/// The processors (hardware threads) that this thread may use, in rising order; also more than
/// 1024, for which a cpu_set_t has no room.
std::vector<int> allowed_cpus();

/// Formats numbers in rising order as "0-3,8".
std::string cpu_list(std::vector<int> const& numbers);

}  // namespace sinew
