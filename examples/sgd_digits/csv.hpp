// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "examples/sgd_digits/data.hpp"

namespace sgd_digits {

/// Parses one example per line: its features, then its label, separated by commas, without a
/// header. Features are not scaled. Throws DataError, with `name`, if anything is malformed.
Examples parse_csv(std::string_view text, std::string const& name);

}  // namespace sgd_digits
