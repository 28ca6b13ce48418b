// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "examples/sgd_digits/data.hpp"

namespace sgd_digits {

/// A classifier: softmax regression (hidden = 0), or one hidden layer of ReLU before it.
///
/// All parameters lie in one vector, layer after layer, each its weights [inputs][outputs], then
/// its biases. So does the gradient: one allreduce serves them all.
class Model {
public:
    Model(std::size_t features, std::size_t hidden);

    std::span<float> parameters() { return parameters_; }
    std::span<float const> parameters() const { return parameters_; }
    /// "64-64-10".
    std::string shape() const;

    /// Weights uniform in +-sqrt(6 / (inputs + outputs)), biases 0.
    void initialise(std::uint64_t seed);

    /// Adds the gradient of the *summed* loss of these examples to `gradient`; returns that loss.
    double add_gradient(Examples const& examples, std::span<std::uint32_t const> which,
                        std::span<float> gradient);

    std::size_t predict(std::span<float const> pixels);

private:
    struct Layer {
        std::size_t inputs, outputs, offset;
        std::size_t weights() const { return inputs * outputs; }
        std::size_t end() const { return offset + weights() + outputs; }
    };
    void add_layer(std::size_t inputs, std::size_t outputs);
    /// Fills values_; the last are the scores of the classes.
    void forward(std::span<float const> pixels);
    /// From the loss's slopes by the scores, in slopes_.back(), to those by the parameters.
    void backward(std::span<float const> pixels, std::span<float> gradient);

    std::vector<Layer> layers_;
    std::vector<float> parameters_;
    std::vector<std::vector<float>> values_;  ///< outputs of each layer for the current example
    std::vector<std::vector<float>> slopes_;  ///< of the loss by values_
};

}  // namespace sgd_digits
