// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace sinew::launch {

/// The value of a quantity as Kubernetes writes it: 2, 0.5, 500m, 512Mi, 4G. 0 if it is none.
double amount_of(std::string_view quantity);

}  // namespace sinew::launch
