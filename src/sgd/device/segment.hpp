// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sinew::sgd {

/// A part of a tensor and its place in a bucket: what one warp moves at a time.
struct Segment {
    std::uint64_t tensor;  ///< the address of the part's first element
    std::uint64_t offset;  ///< in elements, in the bucket
    std::uint32_t count;   ///< of elements
    std::uint32_t padding = 0;
};

/// A part of a parameter, of its momentum, and the place of its gradient in a bucket.
struct SgdSegment {
    std::uint64_t parameters;  ///< addresses of the part's first elements, f32
    std::uint64_t momentum;    ///< 0 if the optimiser has none
    std::uint64_t offset;      ///< in elements, in the bucket
    std::uint32_t count;       ///< of elements
    std::uint32_t padding = 0;
};

/// Elements of the longest segment: 8 KiB of f32. So a long tensor occupies the whole GPU, and the list
/// adds 0.3 % to what is read and written.
inline constexpr std::uint32_t segment_elements = 2048;

/// A tensor and its place in a bucket.
struct TensorPlace {
    std::uint64_t tensor;  ///< its address
    std::uint64_t offset;  ///< in elements, in the bucket
    std::uint64_t count;   ///< of elements
    std::size_t element;   ///< bytes of an element of the tensor
    std::uint64_t momentum =
        0;  ///< the address of its momentum (f32), for an optimiser that has one
};

/// The work list of a bucket: the tensors cut into segments, in their order. It is made once, copied to
/// the GPU, and serves every launch; any number of tensors is one launch.
std::vector<Segment> segments_of(std::span<TensorPlace const> tensors);

/// The same for the optimiser's step. Requires: tensors of f32.
std::vector<SgdSegment> sgd_segments_of(std::span<TensorPlace const> tensors);

}  // namespace sinew::sgd
