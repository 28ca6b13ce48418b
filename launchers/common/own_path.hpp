// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sinew::launch {

/// The absolute path of this program's executable; "sinew" if it is not known.
std::string own_path();

}  // namespace sinew::launch
