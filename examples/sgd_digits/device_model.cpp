// SPDX-License-Identifier: Apache-2.0
#include "examples/sgd_digits/device_model.hpp"

#include <algorithm>
#include <numeric>

namespace sgd_digits {
namespace {

constexpr std::size_t tested_at_a_time = 1024;

}  // namespace

DeviceModel::DeviceModel(Gpu& gpu, Model const& model, Dataset const& data, std::size_t batch)
    : gpu_(gpu), data_(data), rows_(std::max(batch, std::min(data.test.size(), tested_at_a_time))),
      parameters_(gpu, model.parameters()), gradient_(gpu, model.parameters().size()),
      train_pixels_(gpu, std::span(data.train.pixels)),
      test_pixels_(gpu, std::span(data.test.pixels)),
      train_labels_(gpu, std::span(data.train.labels)), which_(gpu, batch), losses_(gpu, batch),
      best_(gpu, rows_) {
    auto const tensors = model.tensors();  // weights and biases of each layer
    for (std::size_t i = 0; i < tensors.size(); i += 2) {
        std::size_t const outputs = tensors[i + 1].size;
        layers_.push_back({tensors[i].rows,
                           outputs,
                           tensors[i].offset,
                           {gpu, rows_ * outputs},
                           {gpu, rows_ * outputs}});
    }
}

Rows DeviceModel::inputs_of(std::size_t layer, Rows examples) const {
    if (layer == 0) return examples;
    return {layers_[layer - 1].values.data(), nullptr, layers_[layer].inputs};
}

void DeviceModel::forward(Rows examples, std::size_t count) {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
        auto const& layer = layers_[l];
        gpu_.run(LayerOutputs{.examples = count,
                              .width = layer.outputs,
                              .inputs = inputs_of(l, examples),
                              .parameters = parameters_.data() + layer.offset,
                              .relu = l + 1 < layers_.size(),
                              .outputs = layer.values.data()});
    }
}

double DeviceModel::compute_gradient(std::span<std::uint32_t const> which, float scale,
                                     std::function<void(std::size_t layer)> const& ready) {
    which_.write(which);
    Rows const examples{train_pixels_.data(), which_.data(), data_.train.features};
    forward(examples, which.size());
    auto const& last = layers_.back();
    gpu_.run(SoftmaxLoss{.examples = which.size(),
                         .width = last.outputs,
                         .scores = last.values.data(),
                         .labels = train_labels_.data(),
                         .which = which_.data(),
                         .scale = scale,
                         .slopes = last.slopes.data(),
                         .losses = losses_.data()});
    for (std::size_t l = layers_.size(); l-- > 0;) {
        auto const& layer = layers_[l];
        Rows const inputs = inputs_of(l, examples);
        gpu_.run(ParameterSlopes{.examples = which.size(),
                                 .width = layer.outputs,
                                 .inputs = inputs,
                                 .slopes = layer.slopes.data(),
                                 .gradient = gradient_.data() + layer.offset});
        ready(l);
        if (l > 0)
            gpu_.run(InputSlopes{.examples = which.size(),
                                 .width = layer.outputs,
                                 .inputs = inputs,
                                 .parameters = parameters_.data() + layer.offset,
                                 .slopes = layer.slopes.data(),
                                 .input_slopes = layers_[l - 1].slopes.data()});
    }
    auto const losses = losses_.read(which.size());
    return std::accumulate(losses.begin(), losses.end(), 0.0);
}

std::size_t DeviceModel::count_right(std::size_t begin, std::size_t end) {
    std::size_t right = 0;
    for (std::size_t first = begin; first < end; first += rows_) {
        std::size_t const count = std::min(rows_, end - first);
        std::size_t const features = data_.test.features;
        forward({test_pixels_.data() + first * features, nullptr, features}, count);
        gpu_.run(BestClass{.examples = count,
                           .width = layers_.back().outputs,
                           .scores = layers_.back().values.data(),
                           .best = best_.data()});
        auto const best = best_.read(count);
        for (std::size_t i = 0; i < count; ++i)
            right += best[i] == data_.test.labels[first + i] ? 1 : 0;
    }
    return right;
}

}  // namespace sgd_digits
