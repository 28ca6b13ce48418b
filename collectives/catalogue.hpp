// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <sinew/comm/algorithm.hpp>

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"

namespace sinew::collectives {

class Model;

/// The order in which an algorithm combines the ranks. Two algorithms of one order give the same
/// bits, so the tuner may choose freely between them where the order matters.
enum class Order : std::uint8_t {
    none,        ///< does not reduce
    tree,        ///< neighboring ranks first: ((0+1)+(2+3))+...
    ring,        ///< around the ring, starting at a rank that depends on the element
    linear,      ///< ((0+1)+2)+3...
    nodes_tree,  ///< the ranks of each node as in linear, then the nodes' sums as in tree
    nodes_ring,  ///< the ranks of each node as in linear, then the nodes' sums as in ring
};

/// The properties of a call that decide which algorithms apply and what they cost.
struct Shape {
    int ranks = 1;
    std::size_t bytes = 0;    ///< bytes of the whole vector, or of all blocks together
    std::size_t count = 0;    ///< elements of the whole vector
    bool commutative = true;  ///< whether the reduction commutes; true if there is none
    bool symmetric = true;    ///< whether it commutes in every bit; not known of user operations
    bool shared = false;      ///< all ranks share a node's memory
    bool by_node = false;     ///< of several nodes, each one's ranks share its memory
};

/// One way to carry out a collective.
struct Algorithm {
    Collective collective;
    std::string_view name;
    std::string_view suits;  ///< when to use it, in one line
    Order order;
    bool (*applies)(Shape const&);                  ///< correct for this shape
    double (*seconds)(Shape const&, Model const&);  ///< the expected time by the model
    void (*run)(Channel&, Arguments const&);
};

/// All algorithms of a collective. The first applies to every shape and is the fallback.
std::span<Algorithm const> algorithms(Collective collective);

/// The algorithm over the memory of a node.
Algorithm const& shared_algorithm(Collective collective);

/// Finds an algorithm by name. Throws UsageError, which lists the known names, if there is none.
Algorithm const& find_algorithm(Collective collective, std::string_view name);

}  // namespace sinew::collectives
