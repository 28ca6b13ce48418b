// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <sinew/communicator.hpp>
#include <stdexcept>
#include <vector>

#include "examples/sgd_digits/data.hpp"
#include "examples/sgd_digits/options.hpp"

namespace sgd_digits {

/// After an epoch; the same on every rank.
struct Epoch {
    double loss = 0;      ///< mean over the training set, while it was learned
    double accuracy = 0;  ///< on the test set, 0..1
};

struct Result {
    std::vector<Epoch> epochs;
    std::vector<float> parameters;
    std::uint64_t weights_hash = 0;  ///< of the parameters' bits; checked to be equal on all ranks
    std::size_t steps = 0;
    double seconds = 0;            ///< of training, without the tests; mean over the ranks
    double allreduce_seconds = 0;  ///< of these, in the allreduce of gradients
};

/// The loss is no number any more. Thrown on all ranks alike.
class Diverged : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// What a caller may want to see while it runs. Called on every rank; both may be empty.
struct Observer {
    std::function<void(std::size_t epoch, std::size_t step, std::size_t steps)> step;
    std::function<void(std::size_t epoch, Epoch const&)> epoch;
};

/// Trains on `data`, which every rank has in full. Collective. n ranks that share batches of B
/// compute what one rank computes alone with batches of B, up to the rounding of sums; the same
/// call with as many ranks gives the same bits. Throws Diverged, and sinew's errors.
Result train(sinew::Communicator& comm, Dataset const& data, Options const& options,
             Observer const& observer = {});

}  // namespace sgd_digits
