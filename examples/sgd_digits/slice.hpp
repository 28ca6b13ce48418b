// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <sinew/communicator.hpp>

namespace sgd_digits {

/// This rank's contiguous part of `count` items. Part sizes differ by at most one; 0 is possible.
struct Slice {
    std::size_t begin, end;
    Slice(std::size_t count, sinew::Communicator const& comm)
        : begin(edge(count, comm, comm.rank())), end(edge(count, comm, comm.rank() + 1)) {}

    static std::size_t edge(std::size_t count, sinew::Communicator const& comm, int rank) {
        return count * static_cast<std::size_t>(rank) / static_cast<std::size_t>(comm.size());
    }
    std::size_t size() const { return end - begin; }
};

}  // namespace sgd_digits
