// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/communicator.hpp>

#include "examples/sgd_digits/data.hpp"

namespace sgd_digits {

/// Copies rank 0's `data` to every rank, so that only rank 0 reads the files. Collective.
void share(sinew::Communicator& comm, Dataset& data);

}  // namespace sgd_digits
