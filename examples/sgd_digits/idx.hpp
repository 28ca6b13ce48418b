// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "examples/sgd_digits/data.hpp"

namespace sgd_digits {

/// A file's bytes and its name, for the DataError.
struct NamedBytes {
    std::string_view bytes;
    std::string name;
};

/// Parses MNIST's format: big-endian 0x803, images, rows, columns, pixels; and 0x801, labels,
/// labels. Pixels 0..255 become 0..1. Throws DataError; sizes are checked before use.
Examples parse_idx(NamedBytes const& images, NamedBytes const& labels);

}  // namespace sgd_digits
