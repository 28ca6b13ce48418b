// SPDX-License-Identifier: Apache-2.0
#include "examples/sgd_digits/share.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace sgd_digits {
namespace {

void share(sinew::Communicator& comm, Examples& examples) {
    // Send the sizes first, so that the others can allocate.
    std::array<std::uint64_t, 2> sizes{examples.features, examples.size()};
    comm.broadcast(sizes, 0);
    examples.features = sizes[0];
    examples.pixels.resize(sizes[0] * sizes[1]);
    examples.labels.resize(sizes[1]);
    comm.broadcast(examples.pixels, 0);
    comm.broadcast(examples.labels, 0);
}

}  // namespace

void share(sinew::Communicator& comm, Dataset& data) {
    share(comm, data.train);
    share(comm, data.test);
}

}  // namespace sgd_digits
