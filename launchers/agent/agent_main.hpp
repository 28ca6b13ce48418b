// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::launch {

/// Runs `sinew agent [--config FILE]`, which serves one node of a job. Its configuration, a line of
/// JSON with the secret, is read from stdin or a file of mode 0600, never from an argument.
/// `--copy-to FOLDER` makes a copy of the command instead, see command_copy.hpp.
int agent_main(std::vector<std::string> const& arguments);

}  // namespace sinew::launch
