// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace sinew::launch {

/// `sinew info`: shows the build, this machine and its ring order, the algorithms, the backends and
/// why one is not usable here, and limits. Returns 0, or 2 if the command line is wrong.
int info_main(std::vector<std::string> const& arguments, std::ostream& out, std::ostream& err);

}  // namespace sinew::launch
