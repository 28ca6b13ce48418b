// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "benchmarks/collectives/workload.hpp"

namespace sinew::bench {

/// Inputs whose result is known exactly for any order of the ranks and any type: small integers for
/// reductions (every partial result fits the type), hashes for collectives that only move data.
///
/// Element i of rank r is one of few values, chosen by a hash of i and shifted by r. Results have
/// few values too, and checking is one table look-up per element for any number of ranks.
class Values {
public:
    explicit Values(Problem const& problem);

    /// Writes the input, and fills the output with bytes that no correct result contains.
    void prepare(Workload const& load) const;
    /// Returns the number of wrong elements in this rank's output.
    std::size_t wrong(Workload const& load) const;

private:
    using Element = std::array<std::byte, 16>;

    bool defined(Workload const& load) const;
    std::size_t wrong_moved(Workload const& load) const;
    std::size_t wrong_reduced(Workload const& load) const;
    Element moved(int rank, std::size_t index) const;
    void write_moved(std::byte* to, int rank, std::size_t count) const;

    Problem problem_;
    std::vector<Element> mine_;      ///< by residue: this rank's contribution
    std::vector<Element> combined_;  ///< by residue: the result on this rank
};

}  // namespace sinew::bench
