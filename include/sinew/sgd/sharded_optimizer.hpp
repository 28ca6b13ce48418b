// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <sinew/comm/buffer.hpp>
#include <sinew/communicator.hpp>
#include <sinew/sgd/gradient_buckets.hpp>
#include <sinew/sgd/optimizer_rule.hpp>
#include <sinew/sgd/training_state.hpp>

namespace sinew {

/// One tensor to train: its name (for errors), its elements and their gradient, of the same type (f16,
/// bf16 or f32) and number. Both belong to the caller and must outlive the ShardedOptimizer.
struct Parameter {
    std::string name;
    Buffer elements;
    Buffer gradient;

    Parameter(std::string name_, Buffer elements_, Buffer gradient_)
        : name(std::move(name_)), elements(elements_), gradient(gradient_) {}
};

/// An optimiser whose state is divided among the ranks, as in stage 1 of ZeRO (Rajbhandari et al. 2020)
/// and PyTorch's ZeroRedundancyOptimizer: each rank gets the reduced gradients of its part of every
/// bucket (reduce-scatter), updates that part of the parameters, and all get the results (allgather). So
/// n ranks send as much as for an allreduce, but each keeps and computes 1/n of the optimiser's state.
///
/// Buckets, wire formats, clipping, checks, joining and errors are those of GradientBuckets. A step is:
/// `ready` once for each tensor, then `step`. Parameters are computed in f32; those of 16 bits have f32
/// masters, kept by the rank that updates them. What the program writes to parameters between steps
/// counts. Gradients stay as the program left them.
///
/// All ranks have the same bits after each step. They are those of the same optimiser without sharding
/// (one that gets gradients from GradientBuckets) if both sum in the same order, which 1 and 2 ranks
/// always do; otherwise they are equal up to the rounding of the sums. With `clip_norm` the norm is
/// summed by parts, and rounded accordingly. In fp8, int8 and 16-bit formats the sum of the gradients
/// is not rounded again, so the results are closer to f32's.
///
/// An update that throws on one rank ends the communicator: the other ranks get PeerLost.
class ShardedOptimizer {
public:
    /// Collective; see the constructor of GradientBuckets. The rule must be equal on all ranks (of
    /// CustomUpdate only the number of states is compared). Throws UsageError if it is wrong.
    ShardedOptimizer(Communicator& comm, std::vector<Parameter> parameters, OptimizerRule rule,
                     GradientOptions options = {});
    ShardedOptimizer(ShardedOptimizer&&) noexcept;
    ShardedOptimizer& operator=(ShardedOptimizer&&) noexcept;
    ~ShardedOptimizer();

    /// Number of tensors.
    std::size_t size() const noexcept;
    /// Says that the gradient of a tensor has been computed; see GradientBuckets::ready.
    void ready(std::size_t tensor);
    /// Reduces the remaining gradients and updates all parameters, which are then equal on all ranks.
    /// Collective.
    GradientStep step();
    /// Sets the learning rate of Sgd and Adam from the next step on; it must be equal on all ranks. Not
    /// collective. Throws UsageError if it is negative or not finite, or with CustomUpdate.
    void set_learning_rate(double rate);

    /// Copies the root's parameters to all ranks; see GradientBuckets. Collective.
    void broadcast_parameters(int root = 0);
    /// See GradientBuckets::average. Collective.
    void average(std::span<double> metrics);
    /// See GradientBuckets::join. Parameters are updated on ranks that have joined, too. Collective.
    int join();

    /// Floats that this rank keeps: states of the rule, and masters of 16-bit parameters.
    std::size_t state_elements() const noexcept;
    /// What this rank keeps between steps, also of the wire format, for a checkpoint. Not collective.
    std::vector<std::byte> state() const;
    /// Continues with what `state` has returned on the same rank of as many, with equal tensors, rule and
    /// options; also with its learning rate. Not collective. Throws UsageError if the sizes differ.
    void restore_state(std::span<std::byte const> state);
    /// Adds this rank's state to commits, under `name`. This object must outlive `training`. Parameters are added by the program, as shared elements.
    void add_to(TrainingState& training, std::string name = "optimizer");

private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace sinew
