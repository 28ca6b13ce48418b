// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "examples/sgd_digits/data.hpp"
#include "examples/sgd_digits/gpu.hpp"
#include "examples/sgd_digits/model.hpp"

namespace sgd_digits {

/// A Model in the memory of a GPU, with its gradient and the examples. Parameters and gradient are
/// laid out as there.
class DeviceModel {
public:
    /// Copies the parameters and the examples to the GPU, which must outlive this object. `batch` is
    /// how many training examples a step has at most. `data` must outlive this object.
    DeviceModel(Gpu& gpu, Model const& model, Dataset const& data, std::size_t batch);

    /// Both in the memory of the GPU.
    std::span<float> parameters() const { return {parameters_.data(), parameters_.size()}; }
    std::span<float> gradient() const { return {gradient_.data(), gradient_.size()}; }
    /// Copies, in host memory.
    std::vector<float> read_parameters() const { return parameters_.read(parameters_.size()); }
    std::vector<float> read_gradient() const { return gradient_.read(gradient_.size()); }
    void write_parameters(std::span<float const> values) { parameters_.write(values); }

    /// Computes the gradient of `scale` times the summed loss of these training examples, from the
    /// last layer to the first; returns that loss without `scale`. `ready` is called with the index
    /// of each layer when the stream of the GPU has been given the work that computes its gradient.
    double compute_gradient(std::span<std::uint32_t const> which, float scale,
                            std::function<void(std::size_t layer)> const& ready);

    /// How many of the test examples `begin` to `end` - 1 are classified correctly.
    std::size_t count_right(std::size_t begin, std::size_t end);

private:
    struct Layer {
        std::size_t inputs, outputs, offset;
        GpuArray<float> values;  ///< the outputs for each example
        GpuArray<float> slopes;  ///< the gradient by them
    };
    void forward(Rows examples, std::size_t count);
    Rows inputs_of(std::size_t layer, Rows examples) const;

    Gpu& gpu_;
    Dataset const& data_;
    std::size_t rows_;  ///< how many examples there is memory for at a time
    GpuArray<float> parameters_, gradient_;
    GpuArray<float> train_pixels_, test_pixels_;
    GpuArray<std::uint8_t> train_labels_;
    GpuArray<std::uint32_t> which_;
    GpuArray<double> losses_;
    GpuArray<std::uint8_t> best_;
    std::vector<Layer> layers_;
};

}  // namespace sgd_digits
