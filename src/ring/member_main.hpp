// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/process/child/child.hpp"

namespace sinew::ring {

/// A member of a ring, for the rest of its process's life; the exit code.
int member_main(process::ChildStart& start);

}  // namespace sinew::ring
