// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "collectives/catalogue.hpp"
#include "collectives/tuning/model.hpp"

namespace sinew::collectives {

/// Chooses the algorithm of each call: the one the model expects to be fastest.
///
/// Where the order of a reduction matters (floating-point sums), it chooses only among algorithms
/// of one order, and which order that is depends on nothing measured, only on the size and on
/// whether messages leave the node: so results have the same bits in every run, whatever the model
/// says. A choice can be forced per call, or for all by text: "allreduce:ring,broadcast:tree".
class Tuner {
public:
    /// From how many bytes on a reduction whose order matters goes around the ring. A network is
    /// worth it early, shared memory late. Powers of two: edges of buckets.
    static constexpr std::size_t ring_border(bool across_nodes) {
        return across_nodes ? std::size_t{256} << 10 : std::size_t{4} << 20;
    }

    /// Throws UsageError when `forced` names what there is not.
    Tuner(Model const& model, bool across_nodes, std::string_view forced);

    Algorithm const& choose(Collective collective, Shape const& shape, bool order_matters);
    /// What `choose` would answer; may be asked at any time, from any thread.
    Algorithm const& choice(Collective collective, Shape const& shape, bool order_matters) const;
    Model const& model() const { return model_; }
    /// A table of sizes, choices and expected times.
    std::string explain(Collective collective, int ranks) const;

private:
    static constexpr std::size_t buckets = 48;  // by bit width of the size

    Algorithm const& fastest(Collective collective, Shape const& shape, bool order_matters) const;
    Order fixed_order(Collective collective, Shape const& shape) const;

    Model model_;
    std::size_t ring_border_;
    std::array<Algorithm const*, collectives_count> forced_{};
    // By collective; whether the order matters and whether it commutes; size.
    std::array<std::array<std::array<Algorithm const*, buckets>, 4>, collectives_count> chosen_{};
};

}  // namespace sinew::collectives
