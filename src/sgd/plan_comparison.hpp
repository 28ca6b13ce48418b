// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <vector>

#include <sinew/sgd/gradient_buckets.hpp>

namespace sinew::sgd {

/// Throws UsageError on all ranks if tensors or options differ between ranks: what differs first,
/// and on which rank. Rethrows `refusal`, this rank's reason not to go on, after the other ranks
/// were told, which throw UsageError too. `more` is a hash of what belongs to the options besides.
/// Returns whether `on_gpu`, that this rank's gradients are in the memory of a GPU, is true of all ranks.
/// Collective.
bool compare_plans(Communicator& comm, std::vector<Gradient> const& gradients,
                   GradientOptions const& options, std::uint64_t more, bool on_gpu,
                   std::exception_ptr const& refusal);

}  // namespace sinew::sgd
