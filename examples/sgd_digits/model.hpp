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
/// All parameters are in one vector, layer by layer: first the weights [inputs][outputs], then the
/// biases. The gradient has the same layout, and consists of
/// the same tensors.
class Model {
public:
    Model(std::size_t features, std::size_t hidden);

    std::span<float> parameters() { return parameters_; }
    std::span<float const> parameters() const { return parameters_; }
    /// A tensor: its place among the parameters.
    struct Tensor {
        std::string name;
        std::size_t offset, size;
        std::size_t rows;  ///< of a matrix; 0 for biases
    };
    /// Weights and biases, layer by layer.
    std::vector<Tensor> tensors() const;
    /// Returns the sizes of the layers: "64-64-10".
    std::string shape() const;

    /// Sets the weights uniformly in +-sqrt(6 / (inputs + outputs)) and the biases to 0.
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
    /// Computes values_; the last are the scores of the classes.
    void forward(std::span<float const> pixels);
    /// Computes the gradient by parameter from the one by score, which is in slopes_.back().
    void backward(std::span<float const> pixels, std::span<float> gradient);

    std::vector<Layer> layers_;
    std::vector<float> parameters_;
    std::vector<std::vector<float>> values_;  ///< outputs of each layer for the current example
    std::vector<std::vector<float>> slopes_;  ///< gradient of the loss by values_
};

}  // namespace sgd_digits
