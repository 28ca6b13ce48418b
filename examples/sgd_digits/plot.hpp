// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "examples/sgd_digits/train.hpp"

namespace sgd_digits {

/// Checks before the training that plot() can work. Throws sinew::Unavailable if there is no
/// gnuplot, sinew::SystemError if `file` is not writable.
void check_plot(std::string const& file);

/// Draws loss and test accuracy by epoch as SVG.
void plot(std::string const& file, std::string const& title, std::span<Epoch const> epochs);

}  // namespace sgd_digits
