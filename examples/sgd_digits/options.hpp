// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <sinew/sgd/gradient_buckets.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sgd_digits {

/// The command line's values. They are equal on all ranks, which have the same command line.
struct Options {
    std::string data = {};  ///< empty: synthetic digits
    std::size_t hidden = 64;
    std::size_t epochs = 30;
    std::size_t batch = 64;  ///< of all ranks together
    bool device = false;     ///< train on a GPU
    double rate = 0.2;
    double momentum = 0.9;
    std::uint64_t seed = 1;
    std::string algorithm = {};  ///< of the allreduce; empty: chosen by the library
    sinew::WireFormat wire = sinew::WireFormat::native;  ///< how gradients travel
    std::size_t bucket = std::size_t{1} << 20;           ///< bytes of gradients reduced at a time
    double clip = 0;                                     ///< largest norm of gradients; 0: any
    int powersgd_rank = 0;                               ///< of compressed weights; 0: none
    bool optimizer_sharding = false;                     ///< each rank keeps a part of the momentum
    std::size_t local_steps = 0;         ///< average weights this seldom; 0: average gradients
    bool tune_buckets = false;           ///< measure other bucket sizes, too
    std::string timeline = {};           ///< file; empty: none
    std::string checkpoint = {};         ///< folder; empty: none
    std::size_t checkpoint_every = 100;  ///< steps
    std::string plot = {};               ///< empty: none
    bool json = false;
    bool help = false;
};

/// The command line is wrong. The text says what is expected.
class OptionError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Throws OptionError. `arguments` excludes the program's name.
Options parse_options(std::vector<std::string> const& arguments);

std::string help_text();

/// Returns the candidate with the smallest edit distance to `word`. Requires: any candidates.
std::string_view nearest(std::string_view word, std::vector<std::string> const& candidates);

}  // namespace sgd_digits
