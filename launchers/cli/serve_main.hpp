// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace sinew::launch {

/// `sinew serve`: runs jobs that clients submit, until a signal ends it; the jobs go on then. Returns
/// the exit code. Throws UsageError and Unavailable.
int serve_main(std::vector<std::string> const& arguments, std::ostream& out);
/// `sinew registry`: keeps the names of servers, until a signal ends it.
int registry_main(std::vector<std::string> const& arguments, std::ostream& out);

}  // namespace sinew::launch
