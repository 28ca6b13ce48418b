// SPDX-License-Identifier: Apache-2.0
#include "examples/sgd_digits/model.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "examples/sgd_digits/random.hpp"

namespace sgd_digits {
namespace {

/// Computes y += a x.
void add_scaled(std::span<float> y, float a, float const* x) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += a * x[i];
}

/// Turns scores into probabilities. Returns the loss, -log of the probability of `label`.
double softmax(std::span<float> scores, std::size_t label) {
    float const largest = *std::max_element(scores.begin(), scores.end());
    double const own = scores[label] - largest;  // read before it is overwritten
    float total = 0;
    for (float& score : scores) total += score = std::exp(score - largest);
    for (float& score : scores) score /= total;
    return std::log(double{total}) - own;
}

}  // namespace

Model::Model(std::size_t features, std::size_t hidden) {
    if (hidden > 0) add_layer(features, hidden);
    add_layer(hidden > 0 ? hidden : features, classes);
    parameters_.resize(layers_.back().end());
}

void Model::add_layer(std::size_t inputs, std::size_t outputs) {
    layers_.push_back({inputs, outputs, layers_.empty() ? 0 : layers_.back().end()});
    values_.emplace_back(outputs);
    slopes_.emplace_back(outputs);
}

std::vector<Model::Tensor> Model::tensors() const {
    std::vector<Tensor> all;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
        auto const& layer = layers_[l];
        auto const name = "layer" + std::to_string(l + 1);
        all.push_back({name + ".weights", layer.offset, layer.weights(), layer.inputs});
        all.push_back({name + ".biases", layer.offset + layer.weights(), layer.outputs, 0});
    }
    return all;
}

std::string Model::shape() const {
    std::string shape = std::to_string(layers_.front().inputs);
    for (auto const& layer : layers_) shape.append("-").append(std::to_string(layer.outputs));
    return shape;
}

void Model::initialise(std::uint64_t seed) {
    Random random(seed, 0);
    std::fill(parameters_.begin(), parameters_.end(), 0.0f);
    for (auto const& layer : layers_) {
        float const limit = std::sqrt(6.0f / static_cast<float>(layer.inputs + layer.outputs));
        for (std::size_t i = 0; i < layer.weights(); ++i)
            parameters_[layer.offset + i] = limit * random.symmetric();
    }
}

void Model::forward(std::span<float const> pixels) {
    std::span<float const> inputs = pixels;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
        auto const& layer = layers_[l];
        float const* const weights = parameters_.data() + layer.offset;
        float const* const biases = weights + layer.weights();
        auto& outputs = values_[l];
        std::copy(biases, biases + layer.outputs, outputs.begin());
        // Most pixels are blank, and half of the hidden values are zero, so zeros are skipped.
        for (std::size_t i = 0; i < layer.inputs; ++i)
            if (inputs[i] != 0) add_scaled(outputs, inputs[i], weights + i * layer.outputs);
        if (l + 1 < layers_.size())
            for (float& value : outputs) value = std::max(value, 0.0f);
        inputs = outputs;
    }
}

void Model::backward(std::span<float const> pixels, std::span<float> gradient) {
    for (std::size_t l = layers_.size(); l-- > 0;) {
        auto const& layer = layers_[l];
        auto const inputs = l > 0 ? std::span<float const>(values_[l - 1]) : pixels;
        auto const& slopes = slopes_[l];
        auto const own = gradient.subspan(layer.offset, layer.end() - layer.offset);
        add_scaled(own.last(layer.outputs), 1.0f, slopes.data());
        for (std::size_t i = 0; i < layer.inputs; ++i) {
            float const* const weights = parameters_.data() + layer.offset + i * layer.outputs;
            // The gradient is 0 where a ReLU gave 0 or a pixel is 0.
            if (l > 0)
                slopes_[l - 1][i] =
                    inputs[i] > 0 ? std::inner_product(slopes.begin(), slopes.end(), weights, 0.0f)
                                  : 0.0f;
            if (inputs[i] != 0)
                add_scaled(own.subspan(i * layer.outputs, layer.outputs), inputs[i], slopes.data());
        }
    }
}

double Model::add_gradient(Examples const& examples, std::span<std::uint32_t const> which,
                           std::span<float> gradient) {
    double loss = 0;
    for (auto const i : which) {
        std::size_t const label = examples.labels[i];
        forward(examples[i]);
        auto& slopes = slopes_.back();
        slopes = values_.back();
        loss += softmax(slopes, label);
        slopes[label] -= 1.0f;  // the gradient by a score is the probability minus the truth
        backward(examples[i], gradient);
    }
    return loss;
}

std::size_t Model::predict(std::span<float const> pixels) {
    forward(pixels);
    auto const& scores = values_.back();
    return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) -
                                    scores.begin());
}

}  // namespace sgd_digits
