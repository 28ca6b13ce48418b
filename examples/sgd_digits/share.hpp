// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/communicator.hpp>

#include "examples/sgd_digits/data.hpp"

namespace sgd_digits {

/// Rank 0's `data` on every rank: only its machine needs the files. Collective.
void share(sinew::Communicator& comm, Dataset& data);

}  // namespace sgd_digits
