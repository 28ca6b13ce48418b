// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "src/lease/locks/lock_file.hpp"

namespace sinew::lease {

/// "leases are held by train (pid 12) and 2 processes that are not visible here": those of other
/// users, unless this one is root, and of other containers. For messages: it reads all of /proc.
std::string describe_holders(LockFile const& file);

}  // namespace sinew::lease
