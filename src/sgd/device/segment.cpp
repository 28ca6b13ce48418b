// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/device/segment.hpp"

#include <algorithm>

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::sgd {

namespace {

std::size_t number_of_segments(std::span<TensorPlace const> tensors) {
    std::size_t number = 0;
    for (TensorPlace const& place : tensors)
        number += static_cast<std::size_t>((place.count + segment_elements - 1) / segment_elements);
    return number;
}

/// Calls cut(first element, count) for each segment of a tensor.
template <class Cut>
void cut_tensor(TensorPlace const& place, Cut&& cut) {
    for (std::uint64_t first = 0; first < place.count; first += segment_elements)
        cut(first, static_cast<std::uint32_t>(
                       std::min<std::uint64_t>(segment_elements, place.count - first)));
}

}  // namespace

std::vector<Segment> segments_of(std::span<TensorPlace const> tensors) {
    std::vector<Segment> segments;
    segments.reserve(number_of_segments(tensors));
    for (TensorPlace const& place : tensors)
        cut_tensor(place, [&](std::uint64_t first, std::uint32_t count) {
            segments.push_back({place.tensor + first * place.element, place.offset + first, count});
        });
    return segments;
}

std::vector<SgdSegment> sgd_segments_of(std::span<TensorPlace const> tensors) {
    std::vector<SgdSegment> segments;
    segments.reserve(number_of_segments(tensors));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        TensorPlace const& place = tensors[i];
        if (place.element != sizeof(float))
            throw UsageError(text("tensor ", i, " has elements of ", place.element,
                                  " bytes, but the optimiser's kernel takes f32 alone"));
        cut_tensor(place, [&](std::uint64_t first, std::uint32_t count) {
            std::uint64_t const bytes = first * sizeof(float);
            segments.push_back({place.tensor + bytes,
                                place.momentum == 0 ? 0 : place.momentum + bytes,
                                place.offset + first, count});
        });
    }
    return segments;
}

}  // namespace sinew::sgd
