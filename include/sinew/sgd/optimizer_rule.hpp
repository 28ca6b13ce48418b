// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <variant>

namespace sinew {

/// Stochastic gradient descent with momentum, as torch.optim.SGD computes it:
/// v = momentum v + g (v = g in the first step), p -= learning_rate v.
struct Sgd {
    double learning_rate = 1e-2;
    double momentum = 0;      ///< from 0 to below 1; 0: keeps no state
    double weight_decay = 0;  ///< adds weight_decay p to the gradient
    bool nesterov = false;    ///< p -= learning_rate (g + momentum v); needs momentum
};

/// Adam (Kingma and Ba, 2015), or AdamW with decoupled weight decay (Loshchilov and Hutter, 2019), as
/// torch.optim computes them. It keeps two states per element.
struct Adam {
    double learning_rate = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0;
    /// AdamW: weight decay shrinks the parameters directly. Otherwise it is added to the gradient.
    bool decoupled = true;
};

/// A part of one tensor, which this rank updates. All spans have the same length.
struct ShardPart {
    std::size_t tensor;  ///< its index
    std::size_t first;   ///< index of the part's first element in the tensor
    std::uint64_t step;  ///< 1 in the first step
    std::span<float> parameters;
    std::span<float const> gradient;  ///< reduced over all ranks, and clipped
    /// The states of these elements, which are zero before the first step.
    std::span<std::span<float> const> states;
};

/// An optimiser of the program: `update` is called for each part of a tensor that this rank has, once
/// per step. Each element must be updated from its own values alone, since where a tensor is cut
/// depends on the number of ranks.
struct CustomUpdate {
    std::size_t states = 0;  ///< numbers that are kept per element
    std::function<void(ShardPart const&)> update;
};

/// How parameters follow from gradients.
using OptimizerRule = std::variant<Sgd, Adam, CustomUpdate>;

}  // namespace sinew
