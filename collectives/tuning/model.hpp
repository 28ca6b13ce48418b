// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "collectives/tuning/level.hpp"
#include "collectives/tuning/placement.hpp"

namespace sinew::collectives {

/// The cost of a step on these ranks: that of messages within a node and between nodes, where the
/// ranks lie, and that of combining a byte.
class Model {
public:
    Model() = default;
    /// A model in which all messages cost the same.
    explicit Model(Level const& level) : node(level), network(level) {}

    /// The same machines seen by other ranks.
    Model seen_by(Placement const& other) const {
        Model model = *this;
        model.placement = other;
        return model;
    }

    bool across_nodes() const { return placement.nodes > 1; }
    /// The level that bounds a pipeline around all ranks in node order, of whose links one leads
    /// into each node.
    Level const& bound() const { return across_nodes() ? network : node; }
    /// Seconds of such a pipeline, excluding its first segment; see Level::stream.
    double stream(std::size_t bytes) const;
    /// Seconds of an exchange in which every rank takes part, with the rank `distance` away.
    double exchange(std::size_t bytes, int distance) const;
    /// Seconds of the same in a tree: the farther away, the fewer ranks take part.
    double exchange_in_tree(std::size_t bytes, int distance) const;
    /// Seconds of one hop from a rank to the next in node order, on average.
    double hop(std::size_t bytes) const;
    /// Seconds of combining two vectors of `bytes`.
    double reduce(std::size_t bytes) const { return reduce_per_byte * static_cast<double>(bytes); }

    /// Converts the costs to one line of text and back; the placement is not in it. Throws
    /// UsageError if the text is not a model.
    std::string to_text() const;
    static Model from_text(std::string const& text);

    Level node;
    Level network;
    double reduce_per_byte = 1e-10;
    Placement placement;

private:
    bool on_node(int distance) const {
        return !across_nodes() || (placement.blocks && distance < placement.per_node);
    }
};

}  // namespace sinew::collectives
