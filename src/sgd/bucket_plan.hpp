// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sinew/sgd/gradient_buckets.hpp>

namespace sinew::sgd {

/// One bucket: its tensors, each at an offset, in elements of one type.
struct BucketPlan {
    struct Part {
        std::size_t tensor;
        std::size_t offset;
        std::size_t count;
        std::size_t rows = 0;  ///< of a matrix; 0: it is none
    };
    DataType type = DataType::Kind::f32;  ///< the type in which tensors are stored in the bucket
    std::size_t count = 0;
    std::vector<Part> parts;
};

/// The type in which a tensor is stored in its bucket.
DataType stored_type(DataType tensor, WireFormat wire);

/// Packs the tensors into buckets, in the order in which these will be complete. Each tensor begins
/// at a multiple of 64 bytes. Throws UsageError if a tensor or an option is wrong.
std::vector<BucketPlan> plan_buckets(std::vector<Gradient> const& gradients,
                                     GradientOptions const& options);

/// "'fc.bias' (tensor 3 of 10, f32 x 1000)".
std::string tensor_text(std::vector<Gradient> const& gradients, std::size_t tensor);

/// A hash of everything about a tensor that must be equal on all ranks.
std::uint64_t hash_of(Gradient const& gradient);
/// The same for the options.
std::uint64_t hash_of(GradientOptions const& options);

}  // namespace sinew::sgd
