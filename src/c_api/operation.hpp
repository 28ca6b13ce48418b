// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/sinew.h>

namespace sinew::c_api {

/// Operations of programs are addresses, which no small number is.
inline constexpr sinew_op first_user_operation = 4096;

}  // namespace sinew::c_api
