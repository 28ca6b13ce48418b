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
    none,    ///< does not reduce
    tree,    ///< neighbouring ranks first: ((0+1)+(2+3))+...
    ring,    ///< around the ring, starting at a rank that depends on the element
    linear,  ///< ((0+1)+2)+3...
};

/// A choice to be made: what the cost and fitness of an algorithm depend on.
struct Shape {
    int ranks = 1;
    std::size_t bytes = 0;    ///< of the whole vector: of all blocks, where there are blocks
    std::size_t count = 0;    ///< its elements
    bool commutative = true;  ///< the reduction; true where there is none
};

/// One way to carry out a collective.
struct Algorithm {
    Collective collective;
    std::string_view name;
    std::string_view suits;  ///< when to want it, in one line
    Order order;
    bool (*applies)(Shape const&);                  ///< correct for this shape
    double (*seconds)(Shape const&, Model const&);  ///< what the model expects
    void (*run)(Channel&, Arguments const&);
};

/// All of a collective; the first is the fallback that applies always.
std::span<Algorithm const> algorithms(Collective collective);

/// By name; throws UsageError with the names there are.
Algorithm const& find_algorithm(Collective collective, std::string_view name);

}  // namespace sinew::collectives
