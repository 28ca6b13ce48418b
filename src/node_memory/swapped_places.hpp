// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "src/node_memory/not_before.hpp"

namespace sinew::node_memory {

/// What one of two ranks knows of the two places that they swap: in operation n, rank r writes to place r xor (n mod 2) and reads in the
/// other one. It is the only reader of what the other rank writes, so it may write where it has read.
class SwappedPlaces {
public:
    explicit SwappedPlaces(int rank) : rank_(rank) {}

    /// The place to which a rank writes in an operation.
    static std::size_t place_of(int rank, std::uint64_t operation) {
        return static_cast<std::size_t>(rank) ^ (operation & 1);
    }
    /// Whether this rank may write in an operation: it has read there something of the other one since it last wrote, or knows that the
    /// other has finished that operation. `finished` is the last one of which it knows that.
    bool is_free(std::uint64_t operation, std::uint64_t finished) const {
        Place const& place = places_[place_of(rank_, operation)];
        return place.read_since || not_before(finished, place.written);
    }
    void note_written(std::uint64_t operation) {
        places_[place_of(rank_, operation)] = {operation, false};
    }
    /// This rank has read what the other one wrote in an operation.
    void note_read(std::uint64_t operation) {
        places_[place_of(1 - rank_, operation)].read_since = true;
    }

private:
    struct Place {
        std::uint64_t written = 0;  ///< the last operation in which this rank wrote there
        bool read_since = true;
    };
    int rank_;
    std::array<Place, 2> places_{};
};

}  // namespace sinew::node_memory
