// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace sinew::launch {

/// `sinew info`: what was built in, this machine and its ring order, algorithms, ways to start jobs
/// and why one cannot be used here, limits. 0, or 2 when the command line is wrong.
int info_main(std::vector<std::string> const& arguments, std::ostream& out, std::ostream& err);

}  // namespace sinew::launch
