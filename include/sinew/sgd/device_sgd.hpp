// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <sinew/communicator.hpp>
#include <sinew/sgd/gradient_buckets.hpp>
#include <sinew/sgd/optimizer_rule.hpp>
#include <sinew/sgd/sharded_optimizer.hpp>
#include <sinew/sgd/training_state.hpp>

namespace sinew {

/// SGD with momentum for parameters in the memory of a GPU: one kernel goes from a bucket of summed
/// gradients to the parameters (average, clipping, weight decay, momentum, update), so that gradients are
/// not written back and read again. Every rank updates all parameters, and all get the same bits.
///
/// Buckets, wire formats, streams, clipping, checks, joining and errors are those of GradientBuckets. A step
/// is: `ready` once for each tensor, then `step`. Parameters are f32, gradients f32, bf16 or f16, all in
/// the memory of one GPU; gradients stay as the program left them. A step that fails changes no
/// parameter. Parameters must be equal on all ranks at first, for which Communicator::broadcast serves.
///
/// Tested with ranks that share one GPU, and with stand-ins of the driver and of NCCL; never with several GPUs.
class DeviceSgd {
public:
    /// Collective; see the constructor of GradientBuckets. The rule must be equal on all ranks. Not with
    /// `tune_bucket_bytes`. Throws Unavailable without kernels for the GPU.
    DeviceSgd(Communicator& comm, std::vector<Parameter> parameters, Sgd rule = {},
              GradientOptions options = {});
    DeviceSgd(DeviceSgd&&) noexcept;
    DeviceSgd& operator=(DeviceSgd&&) noexcept;
    ~DeviceSgd();

    /// Number of tensors.
    std::size_t size() const noexcept;
    /// Says that the gradient of a tensor has been computed; see GradientBuckets::ready.
    void ready(std::size_t tensor);
    /// Reduces the remaining gradients and updates all parameters. Collective. Returns when the GPU is done.
    GradientStep step();
    /// Sets the learning rate from the next step on; it must be equal on all ranks. Not collective. Throws
    /// UsageError if it is negative or not finite.
    void set_learning_rate(double rate);

    /// See GradientBuckets::average. Collective.
    void average(std::span<double> metrics);
    /// See GradientBuckets::join. Parameters are updated on ranks that have joined, too. Collective.
    int join();

    /// What this rank keeps between steps: momentum, residuals of the wire format, the learning rate. Not
    /// collective.
    std::vector<std::byte> state() const;
    /// Continues with what `state` has returned on the same rank of as many, with equal tensors, rule and
    /// options. Not collective. Throws UsageError if the sizes differ.
    void restore_state(std::span<std::byte const> state);
    /// Adds that to commits, under `name`. This object must outlive `training`. The program adds the
    /// parameters, by functions that copy them.
    void add_to(TrainingState& training, std::string name = "optimizer");

private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace sinew
