// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/sgd/coding/bucket_coder.hpp"

namespace sinew::sgd {

/// Codes a bucket in host memory.
class HostCoder : public BucketCoder {
public:
    /// Elements that belong to no tensor, and stay zeros.
    struct Gap {
        std::size_t begin, end;
    };
    /// `elements` (shape.elements() of them) are borrowed. Without `rounds_sums`, `sum` is not called, and
    /// there is no residual of sums.
    HostCoder(RowShape const& shape, std::vector<Gap> gaps, float* elements, bool rounds_sums);

    void encode(std::byte* rows, bool contributes) override;
    /// Adds up rows, one of each rank.
    void add_up(float* sums, std::byte const* rows) const;
    void sum(std::byte* row, std::byte const* rows) override;
    void decode(std::byte const* rows) override;
    std::vector<float> residuals() const override;
    std::size_t residual_count() const override { return residual_.size() + sum_residual_.size(); }
    void restore(std::span<float const> residuals) override;

private:
    RowShape shape_;
    BlockCoding const& coding_;
    float* elements_;
    std::vector<Gap> gaps_;
    std::vector<float> sums_;
    std::vector<float> residual_, sum_residual_;
};

}  // namespace sinew::sgd
