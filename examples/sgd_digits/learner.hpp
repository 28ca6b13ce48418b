// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <sinew/sgd/training_state.hpp>
#include <span>
#include <string>
#include <vector>

namespace sgd_digits {

/// A model and the way in which all ranks train it: what the loop of epochs in train.cpp needs.
class Learner {
public:
    Learner() = default;
    Learner(Learner const&) = delete;
    Learner& operator=(Learner const&) = delete;
    virtual ~Learner() = default;

    /// Does one step with all ranks, of which each takes its Slice of these training examples.
    /// Collective. Returns the summed loss of this rank's.
    virtual double train_batch(std::span<std::uint32_t const> batch) = 0;
    /// Makes the model equal on all ranks, if it is not anyway. Collective.
    virtual void end_epoch() {}
    /// How many of the test examples `begin` to `end` - 1 are classified correctly. Not collective.
    virtual std::size_t count_right(std::size_t begin, std::size_t end) = 0;
    /// A copy of the parameters.
    virtual std::vector<float> parameters() const = 0;
    /// Adds to checkpoints what this rank needs to continue.
    virtual void add_to(sinew::TrainingState& state) = 0;

    /// What --tune-buckets has found; empty without.
    virtual std::string tuning() const { return {}; }
    /// The GPU of this rank; empty without.
    virtual std::string gpu() const { return {}; }
    /// The time spent in the allreduce of gradients.
    double allreduce_seconds() const { return allreduce_seconds_; }

protected:
    double allreduce_seconds_ = 0;
};

}  // namespace sgd_digits
