// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/service/resources.hpp"

namespace sinew::launch::service {

/// What can be leased on this host (see sinew::Lease). If the number of GPUs is not known, there are
/// none, and a warning says so.
Resources resources_of_host();

}  // namespace sinew::launch::service
