// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sinew::launch {

/// The file of this program, absolute.
std::string own_path();

}  // namespace sinew::launch
