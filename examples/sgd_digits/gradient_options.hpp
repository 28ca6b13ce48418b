// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/sgd/gradient_buckets.hpp>

#include "examples/sgd_digits/options.hpp"

namespace sgd_digits {

/// Gradients are summed, and divided by the true size of the batch. `sinew::average` would divide
/// by the number of ranks, which is the same only if all ranks have equally many examples. The last
/// batch, or 3 ranks, break this.
inline sinew::GradientOptions gradient_options(Options const& options) {
    return {.bucket_bytes = options.bucket,
            .first_bucket_bytes = options.bucket,
            .tune_bucket_bytes = options.tune_buckets,
            .wire = options.wire,
            .op = sinew::sum,
            .powersgd_rank = options.powersgd_rank,
            .clip_norm = options.clip,
            .algorithm = options.algorithm};
}

}  // namespace sgd_digits
