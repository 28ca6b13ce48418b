// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/level.hpp"

#include <algorithm>

namespace sinew::collectives {

double Level::exchange(std::size_t bytes) const {
    if (bytes == 0) return 0;  // it is not sent
    auto const size = [](std::size_t i) { return static_cast<double>(sizes[i]); };
    auto const wanted = static_cast<double>(bytes);
    if (bytes <= sizes.front()) return seconds.front();
    if (bytes >= sizes.back()) return seconds.back() * wanted / size(sizes.size() - 1);
    std::size_t above = 1;
    while (sizes[above] < bytes) ++above;
    double const share = (wanted - size(above - 1)) / (size(above) - size(above - 1));
    return seconds[above - 1] + share * (seconds[above] - seconds[above - 1]);
}

double Level::overlapped(std::size_t bytes) const {
    double const alone = exchange(bytes);
    double const hidden = exchange(1) * (1 - 1.0 / window);
    return std::max(alone - hidden, alone * overlap);
}

}  // namespace sinew::collectives
