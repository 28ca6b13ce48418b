// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace sinew::bench {

/// Curves by title; each is lines of "x y".
using Curves = std::map<std::string, std::string>;

/// Throws Unavailable if gnuplot is not found. Call it before measuring.
void require_gnuplot();

/// Returns the words in single quotes, in which nothing but the quote itself is special.
std::string quoted(std::string const& words);

/// Returns the first lines of a script: it draws into `path` as SVG, `height` pixels high.
std::string plot_head(std::string const& path, int height);

/// Returns the lines for a logarithmic x axis that has marks at the given values, at most ten of
/// them; each value has its label. There must be at least one.
std::string marked_x_axis(std::map<std::size_t, std::string> const& marks);

/// Returns the data, in blocks that begin with `name`, and the command that draws the curves.
/// `extra` is drawn before them.
std::string plot_curves(Curves const& curves, std::string const& name,
                        std::string const& extra = "");

/// Gives the script to gnuplot and waits. Throws SystemError that names `path` if gnuplot fails.
void draw(std::string const& script, std::string const& path);

}  // namespace sinew::bench
