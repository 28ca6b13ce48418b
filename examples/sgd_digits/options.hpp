// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sgd_digits {

/// What the command line says. Equal on all ranks, since all were started with the same one.
struct Options {
    std::string data = {};  ///< empty: synthetic digits
    std::size_t hidden = 64;
    std::size_t epochs = 30;
    std::size_t batch = 64;  ///< of all ranks together
    double rate = 0.2;
    double momentum = 0.9;
    std::uint64_t seed = 1;
    std::string algorithm = {};  ///< of the allreduce; empty: the library chooses
    std::string plot = {};       ///< empty: none
    bool json = false;
    bool help = false;
};

/// The command line makes no sense. The text says what does.
class OptionError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Throws OptionError. `arguments` without the program's name.
Options parse_options(std::vector<std::string> const& arguments);

std::string help_text();

/// The candidate that differs from `word` by the fewest letters; `candidates` is not empty.
std::string_view nearest(std::string_view word, std::vector<std::string> const& candidates);

}  // namespace sgd_digits
