// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace sinew::bench {

struct Percentiles {
    double p10 = 0, p50 = 0, p90 = 0;
};

/// The quantile of an unsorted, non-empty sample, interpolated; `part` is in 0..1.
double quantile(std::vector<double> sample, double part);

inline double median(std::vector<double> sample) { return quantile(std::move(sample), 0.5); }

Percentiles percentiles(std::vector<double> const& sample);

/// Returns above[i] / below[i] for the indices that both have.
std::vector<double> ratios(std::vector<double> const& above, std::vector<double> const& below);

}  // namespace sinew::bench
