// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::launch {

/// `sinew agent [--config FILE]`: serves one node of one job. The configuration, a line of JSON that
/// holds the job's secret, comes from standard input or from a file of mode 0600, never by argument.
int agent_main(std::vector<std::string> const& arguments);

}  // namespace sinew::launch
