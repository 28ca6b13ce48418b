// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "examples/sgd_digits/data.hpp"

namespace sgd_digits {

/// One example a line: its features, then its label, all separated by commas; no header. Features
/// come as they are, not scaled. `name` is for the DataError. Trusts nothing.
Examples parse_csv(std::string_view text, std::string const& name);

}  // namespace sgd_digits
