// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace sinew::launch {

/// The absolute path by which this command can be executed again; "sinew" if it is not known. In a
/// copy made by `sinew agent --copy-to`, whose process executes the copy's loader, it is the copy's
/// bin/sinew.
std::string own_path();

/// The folder of the copy that this process runs from; none: it is no such copy.
std::optional<std::string> own_copy();

}  // namespace sinew::launch
