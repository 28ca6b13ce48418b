// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "examples/sgd_digits/data.hpp"

namespace sgd_digits {

struct SyntheticSizes {
    std::size_t train = 4000;
    std::size_t test = 1000;
};

/// Draws synthetic handwriting, for use without a data set: each digit is a few strokes, moved,
/// stretched, slanted, and rendered with noise into 16 x 16 pixels. All arithmetic is in integers,
/// so a seed gives the same pictures on every platform.
Dataset synthetic_digits(std::uint64_t seed, SyntheticSizes const& sizes = {});

}  // namespace sgd_digits
