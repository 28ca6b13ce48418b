// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace sinew::bench {

double quantile(std::vector<double> sample, double part) {
    std::sort(sample.begin(), sample.end());
    double const position = part * static_cast<double>(sample.size() - 1);
    auto const lower = static_cast<std::size_t>(position);
    std::size_t const upper = std::min(lower + 1, sample.size() - 1);
    return std::lerp(sample[lower], sample[upper], position - static_cast<double>(lower));
}

Percentiles percentiles(std::vector<double> const& sample) {
    return {quantile(sample, 0.1), quantile(sample, 0.5), quantile(sample, 0.9)};
}

std::vector<double> ratios(std::vector<double> const& above, std::vector<double> const& below) {
    std::vector<double> result;
    for (std::size_t i = 0; i < std::min(above.size(), below.size()); ++i)
        result.push_back(above[i] / below[i]);
    return result;
}

}  // namespace sinew::bench
