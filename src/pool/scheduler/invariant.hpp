// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include "src/base/text.hpp"

namespace sinew::pool {

/// Throws std::logic_error if an invariant of the scheduler does not hold.
template <class... Words>
void require(bool holds, Words const&... what) {
    if (!holds) throw std::logic_error(text("the pool's scheduler is inconsistent: ", what...));
}

}  // namespace sinew::pool
