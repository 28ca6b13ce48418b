// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
    static constexpr std::size_t buckets = 128;  ///< of sizes: two for each power of two
    static constexpr std::size_t freedoms = 4;   ///< how free the order of a reduction may be

    /// Calls that have one choice: of a collective, of a bucket of sizes.
    struct Kind {
        Collective collective;
        bool by_node;
        std::uint8_t freedom;  ///< 0: all orders give the same bits
        std::uint8_t bucket;
        friend auto operator<=>(Kind const&, Kind const&) = default;
    };
    static Kind kind_of(Collective collective, Shape const& shape, bool order_matters);
    /// The least and the greatest number of bytes in a bucket.
    static std::pair<std::size_t, std::size_t> sizes_of(std::size_t bucket);

    /// An algorithm, and the seconds that the model expects of it.
    struct Expected {
        Algorithm const* algorithm;
        double expected;
    };
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
    /// Returns all algorithms that give the bits of `choice`, which is the first; the others by expected
    /// time. Thread-safe.
    std::vector<Expected> alternatives(Collective collective, Shape const& shape,
                                       bool order_matters) const;
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
    static std::size_t bucket(std::size_t bytes);
    Algorithm const& fastest(Collective collective, Shape const& shape, bool order_matters) const;
    /// The order to which a call is restricted, if there is one.
    std::optional<Order> required_order(Collective collective, Shape const& shape,
                                        bool order_matters) const;
    Order fixed_order(Collective collective, Shape const& shape) const;

    Model model_;
    std::array<Algorithm const*, collectives_count> forced_{};
    // The number of the row + 1; 0: not compared yet. Indexes: the collective; Shape::by_node; how free the order is;
    // the size.
    using Choices = std::array<std::atomic<std::uint8_t>, buckets>;
    std::array<std::array<std::array<Choices, freedoms>, 2>, collectives_count> chosen_{};
};

}  // namespace sinew::collectives
