// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::launch {

/// `sinew run`: returns the exit code of the job.
int run_main(std::vector<std::string> const& arguments);

/// `sinew help [topic]`, `sinew --help`, `sinew --version`. Throws UsageError for any other verb.
int help_main(std::string const& verb, std::vector<std::string> const& arguments);

}  // namespace sinew::launch
