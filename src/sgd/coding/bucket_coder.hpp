// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <sinew/sgd/gradient_buckets.hpp>

#include "src/sgd/coding/block_coding.hpp"

namespace sinew::sgd {

/// How the elements of a bucket are divided among the ranks: a part of whole blocks for each. In fp8 and
/// int8 a part is encoded as a row.
struct RowShape {
    RowShape() = default;
    RowShape(std::size_t count, std::size_t ranks, GradientOptions const& options);

    bool is_quantised() const { return format == WireFormat::fp8 || format == WireFormat::int8; }
    std::size_t part_elements() const { return blocks * block_elements; }
    std::size_t elements() const { return rows * part_elements(); }
    std::size_t row_bytes() const { return BlockCoding::row_bytes(blocks); }
    std::size_t bytes() const { return rows * row_bytes(); }

    WireFormat format = WireFormat::native;
    bool error_feedback = false;
    std::size_t rows = 0;    ///< as many as ranks
    std::size_t blocks = 0;  ///< of one row
};

/// Encodes and decodes one bucket in fp8 or int8, where its elements are: in host memory or on a GPU. Both
/// give the same bits. Rows are in host memory. Called by one thread at a time.
class BucketCoder {
public:
    virtual ~BucketCoder() = default;
    /// Writes the rows of all ranks, from this rank's elements and what was lost before. A rank that does
    /// not contribute writes zeros, and loses nothing.
    virtual void encode(std::byte* rows, bool contributes) = 0;
    /// Writes the sum of rows, one of each rank, as a row.
    virtual void sum(std::byte* row, std::byte const* rows) = 0;
    /// Takes the elements from the rows of all ranks.
    virtual void decode(std::byte const* rows) = 0;

    /// What was rounded away and not sent yet: of the elements, then of sums. Empty without error feedback.
    virtual std::vector<float> residuals() const = 0;
    virtual std::size_t residual_count() const = 0;
    /// Requires: as many as `residual_count`.
    virtual void restore(std::span<float const> residuals) = 0;
};

}  // namespace sinew::sgd
