// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "examples/sgd_digits/train.hpp"

namespace sgd_digits {

/// Throws sinew::Unavailable when there is no gnuplot, sinew::SystemError when `file` cannot be
/// written: to be told before the training, not after it.
void check_plot(std::string const& file);

/// Loss and test accuracy by epoch, as SVG.
void plot(std::string const& file, std::string const& title, std::span<Epoch const> epochs);

}  // namespace sgd_digits
