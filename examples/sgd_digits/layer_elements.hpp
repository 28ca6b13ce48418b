// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a layer, one element of a result at a time, which nvcc compiles for GPUs and
// the compiler of the host for tests. An object is one launch: a GPU calls it for each of `count()`
// indices, in a thread each. Each sum is made by one thread in the order of its terms, so that
// repeated runs give the same bits.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define SGD_DIGITS_HOST_DEVICE __host__ __device__
#else
#define SGD_DIGITS_HOST_DEVICE
#endif

namespace sgd_digits {

/// Rows of `width` numbers: examples, or what a layer made of them.
struct Rows {
    float const* first;
    std::uint32_t const* which;  ///< the row that is meant by each index; null: that of the index
    std::size_t width;

    SGD_DIGITS_HOST_DEVICE float const* operator[](std::size_t i) const {
        return first + (which != nullptr ? which[i] : i) * width;
    }
};

/// outputs[e][o] = biases[o] + the sum of inputs[e][i] weights[i][o] over i.
struct LayerOutputs {
    std::size_t examples, width;  ///< of the result
    Rows inputs;
    float const* parameters;  ///< weights [inputs.width][width], then the biases
    bool relu;                ///< negative outputs become 0
    float* outputs;

    SGD_DIGITS_HOST_DEVICE std::size_t count() const { return examples * width; }
    SGD_DIGITS_HOST_DEVICE void operator()(std::size_t index) const {
        std::size_t const o = index % width;
        float const* const row = inputs[index / width];
        float sum = parameters[inputs.width * width + o];
        for (std::size_t i = 0; i < inputs.width; ++i) sum += row[i] * parameters[i * width + o];
        outputs[index] = relu && sum < 0 ? 0.0f : sum;
    }
};

/// For each example its loss, and the gradient of `scale` times the loss by the scores.
struct SoftmaxLoss {
    std::size_t examples, width;  ///< width: the number of classes
    float const* scores;
    std::uint8_t const* labels;  ///< of all examples
    std::uint32_t const* which;  ///< the examples that are meant
    float scale;
    float* slopes;
    double* losses;

    SGD_DIGITS_HOST_DEVICE std::size_t count() const { return examples; }
    SGD_DIGITS_HOST_DEVICE void operator()(std::size_t e) const {
        float const* const score = scores + e * width;
        float* const slope = slopes + e * width;
        std::size_t const label = labels[which[e]];
        float largest = score[0];
        for (std::size_t c = 1; c < width; ++c)
            if (score[c] > largest) largest = score[c];
        float total = 0;
        for (std::size_t c = 0; c < width; ++c) total += slope[c] = expf(score[c] - largest);
        for (std::size_t c = 0; c < width; ++c)  // the probability minus the truth
            slope[c] = scale * (slope[c] / total - (c == label ? 1.0f : 0.0f));
        losses[e] = log(double{total}) - double{score[label] - largest};
    }
};

/// The gradient by the inputs of a layer, which are the outputs of a layer with ReLU.
struct InputSlopes {
    std::size_t examples, width;  ///< width: how many outputs the layer has
    Rows inputs;
    float const* parameters;  ///< as in LayerOutputs
    float const* slopes;      ///< the gradient by the outputs
    float* input_slopes;

    SGD_DIGITS_HOST_DEVICE std::size_t count() const { return examples * inputs.width; }
    SGD_DIGITS_HOST_DEVICE void operator()(std::size_t index) const {
        std::size_t const e = index / inputs.width, i = index % inputs.width;
        float sum = 0;
        for (std::size_t o = 0; o < width; ++o)
            sum += slopes[e * width + o] * parameters[i * width + o];
        input_slopes[index] = inputs[e][i] > 0 ? sum : 0.0f;
    }
};

/// The gradient by the parameters of a layer, added up over the examples; 0 if there are none.
struct ParameterSlopes {
    std::size_t examples, width;  ///< width: how many outputs the layer has
    Rows inputs;
    float const* slopes;  ///< the gradient by the outputs
    float* gradient;      ///< in the order of the parameters

    SGD_DIGITS_HOST_DEVICE std::size_t count() const { return (inputs.width + 1) * width; }
    SGD_DIGITS_HOST_DEVICE void operator()(std::size_t index) const {
        std::size_t const i = index / width, o = index % width;
        bool const bias = i == inputs.width;
        float sum = 0;
        for (std::size_t e = 0; e < examples; ++e)
            sum += (bias ? 1.0f : inputs[e][i]) * slopes[e * width + o];
        gradient[index] = sum;
    }
};

/// The class with the largest score, for each example.
struct BestClass {
    std::size_t examples, width;  ///< width: the number of classes
    float const* scores;
    std::uint8_t* best;

    SGD_DIGITS_HOST_DEVICE std::size_t count() const { return examples; }
    SGD_DIGITS_HOST_DEVICE void operator()(std::size_t e) const {
        std::size_t found = 0;
        for (std::size_t c = 1; c < width; ++c)
            if (scores[e * width + c] > scores[e * width + found]) found = c;
        best[e] = static_cast<std::uint8_t>(found);
    }
};

}  // namespace sgd_digits
