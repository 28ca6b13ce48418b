// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::launch {

/// `sinew acquire`: gets nodes for the program that started it, as lines of its standard input say,
/// until that ends. Returns the exit code.
int acquire_main(std::vector<std::string> const& arguments);

}  // namespace sinew::launch
