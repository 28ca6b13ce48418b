// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::launch {

/// `sinew dashboard [--port=PORT]`: the page of a program's pools. A program with SINEW_DASHBOARD
/// starts it, and reports by lines on its standard input; it ends with that.
int dashboard_main(std::vector<std::string> const& arguments);

}  // namespace sinew::launch
