// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <sinew/communicator.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "examples/sgd_digits/data.hpp"
#include "examples/sgd_digits/learner.hpp"
#include "examples/sgd_digits/options.hpp"

namespace sgd_digits {

/// The state after an epoch; the same on every rank.
struct Epoch {
    double loss = 0;      ///< mean over the training set, during the epoch
    double accuracy = 0;  ///< on the test set, 0..1
};

struct Result {
    std::vector<Epoch> epochs;
    std::vector<float> parameters;
    std::uint64_t weights_hash = 0;  ///< of the parameters' bits; verified to be equal on all ranks
    std::size_t steps = 0;
    std::string tuning = {};             ///< what --tune-buckets has found; empty without
    std::vector<std::string> gpus = {};  ///< that of each rank; empty without --device
    double seconds = 0;                  ///< of training without tests; mean over the ranks
    double allreduce_seconds = 0;        ///< the part spent in the allreduce of gradients
};

/// The loss is no longer finite. Thrown on all ranks.
class Diverged : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Callbacks for progress, called on every rank; all may be empty.
struct Observer {
    /// The GPU of each rank, before the first step with --device.
    std::function<void(std::vector<std::string> const& gpus)> gpus;
    std::function<void(std::size_t epoch, std::size_t step, std::size_t steps)> step;
    std::function<void(std::size_t epoch, Epoch const&)> epoch;
};

/// Trains on `data`, which every rank has in full. Collective. n ranks that share batches of B
/// compute the same as one rank with batches of B, up to the rounding of sums. A repeated call with
/// the same number of ranks gives the same bits. Throws Diverged, and sinew's errors.
Result train(sinew::Communicator& comm, Dataset const& data, Options const& options,
             Observer const& observer = {});

/// As above, by a learner of the caller's, which was made with the same arguments.
Result train(sinew::Communicator& comm, Dataset const& data, Options const& options,
             Observer const& observer, Learner& learner);

}  // namespace sgd_digits
