// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace sinew::sgd {

/// What becomes of the gradients of a step in which each rank gets its part of every bucket alone. All
/// functions are called by the runner, on all ranks, after the step was found to be in order.
class ShardUpdate {
public:
    virtual ~ShardUpdate() = default;
    virtual void begin_step() = 0;
    /// Writes this rank's part of the parameters to BucketReduction::gathered, given the sums of the
    /// gradients, which are still to be multiplied by `scale`.
    virtual void update(std::size_t bucket, double scale) = 0;
    /// Takes the parameters of all ranks from BucketReduction::gathered.
    virtual void store(std::size_t bucket) = 0;
};

}  // namespace sinew::sgd
