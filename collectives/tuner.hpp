// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "collectives/catalogue.hpp"
#include "collectives/model.hpp"

namespace sinew::collectives {

/// Chooses the algorithm of each call: the one the model expects to be fastest.
///
/// Where the order of a reduction matters (floating-point sums), it chooses only among algorithms
/// of one order, and which order that is depends on nothing measured: so results have the same bits
/// in every run, whatever the model says. The border is `ring_border` bytes.
/// A choice can be forced per call, or for all by text: "allreduce:ring,broadcast:tree".
class Tuner {
public:
    static constexpr std::size_t ring_border = std::size_t{256} << 10;  // a power of two: edge of a bucket

    /// Throws UsageError when `forced` names what there is not.
    Tuner(Model const& model, std::string_view forced);

    Algorithm const& choose(Collective collective, Shape const& shape, bool order_matters);
    Model const& model() const { return model_; }
    /// A table of sizes, choices and expected times.
    std::string explain(Collective collective, int ranks) const;

private:
    static constexpr std::size_t buckets = 48;  // by bit width of the size

    Algorithm const& fastest(Collective collective, Shape const& shape, bool order_matters) const;

    Model model_;
    std::array<Algorithm const*, collectives_count> forced_{};
    // By collective; whether the order matters and whether it commutes; size.
    std::array<std::array<std::array<Algorithm const*, buckets>, 4>, collectives_count> chosen_{};
};

}  // namespace sinew::collectives
