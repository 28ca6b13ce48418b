// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "benchmarks/collectives/workload.hpp"

namespace sinew::bench {

/// Inputs whose result is known exactly, whatever the order of the ranks and the type: small
/// integers for reductions (every partial result fits the type), hashes for what only moves.
///
/// Element i of rank r is one of few values, chosen by a hash of i and shifted by r. So the results
/// are few as well, and checking costs one table look-up per element however many ranks there are.
class Values {
public:
    explicit Values(Problem const& problem);

    /// Writes the input, and into the output what no correct result contains.
    void prepare(Workload const& load) const;
    /// Elements of this rank's output that are not what they must be.
    std::size_t wrong(Workload const& load) const;

private:
    using Element = std::array<std::byte, 16>;

    bool defined(Workload const& load) const;
    std::size_t wrong_moved(Workload const& load) const;
    std::size_t wrong_reduced(Workload const& load) const;
    Element moved(int rank, std::size_t index) const;
    void write_moved(std::byte* to, int rank, std::size_t count) const;

    Problem problem_;
    std::vector<Element> mine_;      ///< by residue: what this rank contributes
    std::vector<Element> combined_;  ///< by residue: what comes out on this rank
};

}  // namespace sinew::bench
