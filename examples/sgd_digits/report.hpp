// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "examples/sgd_digits/data.hpp"
#include "examples/sgd_digits/options.hpp"
#include "examples/sgd_digits/train.hpp"

namespace sgd_digits {

/// The ranks that train.
struct RingJob {
    int ranks = 1;
    std::string hosts;  ///< "alpha, beta"
    std::string_view bootstrap;
};

/// Prints the results. Only rank 0 uses it.
class Report {
public:
    /// `progress` is a terminal, or null for no progress line.
    Report(std::ostream& out, std::ostream* progress, Options const& options)
        : out_(out), progress_(progress), options_(options) {}

    void header(RingJob const& crew, Dataset const& data);
    /// Prints the GPU of each rank.
    void gpus(std::vector<std::string> const& gpus);
    /// Prints a line that the next one overwrites.
    void step(std::size_t epoch, std::size_t step, std::size_t steps);
    void epoch(std::size_t epoch, Epoch const& now);
    void summary(Result const& result);
    /// Prints one line with all that is needed to repeat the run and to compare it.
    void json(RingJob const& crew, Dataset const& data, Result const& result);

private:
    std::ostream& out_;
    std::ostream* progress_;
    Options const& options_;
};

}  // namespace sgd_digits
