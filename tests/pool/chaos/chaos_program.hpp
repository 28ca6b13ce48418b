// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sinew::testing_support {

/// Runs a test that depends on how the process was started; returns false if the name is unknown.
bool act_alone(std::string const& name);

/// Changes the workers repeatedly, for SINEW_TEST_SOAK_SECONDS.
void soak();

}  // namespace sinew::testing_support
