// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sinew::testing_support {

/// What a pool is put through by how its process was started; false: no such thing.
bool act_alone(std::string const& name);

/// Workers come and go, for SINEW_TEST_SOAK_SECONDS.
void soak();

}  // namespace sinew::testing_support
