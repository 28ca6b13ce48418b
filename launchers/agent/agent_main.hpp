// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::launch {

/// Runs `sinew agent [--config FILE]`, which serves one node of a job. Its configuration, a line of
/// JSON with the secret, is read from stdin or a file of mode 0600, never from an argument.
int agent_main(std::vector<std::string> const& arguments);

}  // namespace sinew::launch
