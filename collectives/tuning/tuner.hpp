// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "collectives/catalogue.hpp"
#include "collectives/tuning/model.hpp"

namespace sinew::collectives {

/// Chooses the algorithm of each call: the one that the model expects to be fastest.
///
/// Where the order of a reduction matters (floating-point sums), it chooses only among algorithms
/// of one order. That order depends on nothing measured, only on the size, how the ranks lie on nodes
/// and whether they share memory there, so results have the same bits in every run, whatever the model.
/// A choice can be forced per call, or for all calls by text: "allreduce:ring,broadcast:chain".
class Tuner {
public:
    /// The number of bytes from which a reduction whose order matters uses the ring. It pays early
    /// on a network and late in shared memory. The steps of a ring grow with the ranks; so does
    /// the border between nodes. It is lower if ranks that are no power of two are on a node each,
    /// because the other algorithms then send the whole vector twice more between nodes. The result
    /// is the edge of a bucket.
    static std::size_t ring_border(int ranks, int nodes);
    /// The same for the lanes between nodes (Order::nodes_ring).
    static std::size_t lanes_border(int nodes, int per_node);
    /// The same for the pipeline of a scan (Order::linear).
    static std::size_t scan_border(int ranks, int nodes);

    /// `model` is seen by the ranks of the calls. Throws UsageError if `forced` names an unknown
    /// collective or algorithm.
    Tuner(Model const& model, std::string_view forced);

    /// Thread-safe. All ranks choose alike: they have the same model, and the costs are computed in
    /// the same way on all processors (no a * b + c in one instruction).
    Algorithm const& choose(Collective collective, Shape const& shape, bool order_matters);
    /// Returns what `choose` would return. Thread-safe.
    Algorithm const& choice(Collective collective, Shape const& shape, bool order_matters) const;
    /// Returns whether all calls of a collective use the algorithm over a node's memory, if the
    /// ranks have any.
    bool prefers_memory(Collective collective) const {
        Algorithm const* const forced = forced_[static_cast<std::size_t>(collective)];
        return forced == nullptr || forced == &shared_algorithm(collective);
    }
    Model const& model() const { return model_; }
    /// Formats a table of sizes, choices and expected times, for calls with these ranks and memory.
    std::string explain(Collective collective, Shape const& like) const;

private:
    static constexpr std::size_t buckets = 128;  // two for each power of two

    static std::size_t bucket(std::size_t bytes);
    Algorithm const& fastest(Collective collective, Shape const& shape, bool order_matters) const;
    Order fixed_order(Collective collective, Shape const& shape) const;

    Model model_;
    std::array<Algorithm const*, collectives_count> forced_{};
    // The number of the row + 1; 0: not compared yet. Indexes: the collective; Shape::by_node; how free the order is;
    // the size.
    using Choices = std::array<std::atomic<std::uint8_t>, buckets>;
    std::array<std::array<std::array<Choices, 4>, 2>, collectives_count> chosen_{};
};

}  // namespace sinew::collectives
