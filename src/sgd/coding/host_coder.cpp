// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/coding/host_coder.hpp"

#include <algorithm>
#include <utility>

namespace sinew::sgd {

RowShape::RowShape(std::size_t count, std::size_t ranks, GradientOptions const& options)
    : format(options.wire), error_feedback(options.error_feedback), rows(ranks) {
    std::size_t const all = (count + block_elements - 1) / block_elements;
    blocks = (all + ranks - 1) / ranks;
    // So many that GPUs can read the codes of every row in words of 16 bytes; short rows stay short.
    if (is_quantised() && blocks >= 16) blocks = (blocks + 3) / 4 * 4;
}

HostCoder::HostCoder(RowShape const& shape, std::vector<Gap> gaps, float* elements,
                     bool rounds_sums)
    : shape_(shape), coding_(shape.format == WireFormat::fp8 ? fp8_coding : int8_coding),
      elements_(elements), gaps_(std::move(gaps)) {
    if (rounds_sums) sums_.resize(shape_.part_elements());
    if (!shape_.error_feedback) return;
    residual_.resize(shape_.elements());
    if (rounds_sums) sum_residual_.resize(shape_.part_elements());
}

void HostCoder::encode(std::byte* rows, bool contributes) {
    std::size_t const part = shape_.part_elements();
    for (std::size_t rank = 0; rank < shape_.rows; ++rank) {
        float* const residual =
            contributes && !residual_.empty() ? residual_.data() + rank * part : nullptr;
        coding_.encode(rows + rank * shape_.row_bytes(), elements_ + rank * part, residual,
                       shape_.blocks);
    }
}

void HostCoder::add_up(float* sums, std::byte const* rows) const {
    std::fill_n(sums, shape_.part_elements(), 0.0f);
    for (std::size_t rank = 0; rank < shape_.rows; ++rank)
        coding_.add(sums, rows + rank * shape_.row_bytes(), shape_.blocks);
}

void HostCoder::sum(std::byte* row, std::byte const* rows) {
    add_up(sums_.data(), rows);
    coding_.encode(row, sums_.data(), sum_residual_.empty() ? nullptr : sum_residual_.data(),
                   shape_.blocks);
}

void HostCoder::decode(std::byte const* rows) {
    for (std::size_t rank = 0; rank < shape_.rows; ++rank)
        coding_.decode(elements_ + rank * shape_.part_elements(), rows + rank * shape_.row_bytes(),
                       shape_.blocks);
    // A block with NaN has become NaN as a whole, and the next step must not find it in the gaps.
    for (Gap const& gap : gaps_) std::fill(elements_ + gap.begin, elements_ + gap.end, 0.0f);
}

std::vector<float> HostCoder::residuals() const {
    std::vector<float> all = residual_;
    all.insert(all.end(), sum_residual_.begin(), sum_residual_.end());
    return all;
}

void HostCoder::restore(std::span<float const> residuals) {
    std::copy_n(residuals.begin(), residual_.size(), residual_.begin());
    residuals = residuals.subspan(residual_.size());
    std::copy_n(residuals.begin(), sum_residual_.size(), sum_residual_.begin());
}

}  // namespace sinew::sgd
