// SPDX-License-Identifier: Apache-2.0
// A DeviceModel beside a Model, for tests on a GPU and without one.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "examples/sgd_digits/device_model.hpp"
#include "examples/sgd_digits/model.hpp"
#include "examples/sgd_digits/synthetic.hpp"

namespace sgd_digits {

/// A model and the examples of a step: none, one, and numbers that are no multiple of a block.
struct DeviceModelCase {
    std::size_t hidden, examples;
    std::string text() const {
        return std::to_string(hidden) + " hidden units, " + std::to_string(examples) + " examples";
    }
};

inline std::vector<DeviceModelCase> device_model_cases() {
    std::vector<DeviceModelCase> all;
    for (std::size_t const hidden : {0, 1, 7, 64})
        for (std::size_t const examples : {0, 1, 37, 300}) all.push_back({hidden, examples});
    return all;
}

/// What both compute of the same parameters and examples.
struct DeviceModelResult {
    std::vector<float> gradient, expected_gradient;  ///< of the mean loss
    double loss, expected_loss;
    std::size_t right, expected_right;
    std::vector<std::size_t> ready, expected_ready;  ///< layers

    /// The largest difference of two elements, as a part of the largest element.
    double gradient_error() const {
        double difference = 0, largest = 1e-6;
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            // Not a maximum: NaN must not be lost.
            double const d = std::abs(double{gradient[i]} - double{expected_gradient[i]});
            if (!(d <= difference)) difference = d;
            largest = std::max(largest, std::abs(double{expected_gradient[i]}));
        }
        return difference / largest;
    }
    /// Both are right up to rounding. An example between two classes may fall to either side.
    bool agree() const {
        return gradient.size() == expected_gradient.size() && gradient_error() < 1e-4 &&
               std::abs(loss - expected_loss) <= 1e-5 * (1 + expected_loss) &&
               std::max(right, expected_right) - std::min(right, expected_right) <= 1 &&
               ready == expected_ready;
    }
    std::string text() const {
        return "gradient differs by " + std::to_string(gradient_error()) +
               " of its largest, loss " + std::to_string(loss) + " and " +
               std::to_string(expected_loss) + ", right " + std::to_string(right) + " and " +
               std::to_string(expected_right);
    }
};

inline DeviceModelResult compare_device_model(Gpu& gpu, DeviceModelCase const& now) {
    // More to test than is tested at a time.
    static auto const data = synthetic_digits(1, {.train = 500, .test = 1500});
    Model model(data.train.features, now.hidden);
    model.initialise(3);
    DeviceModel device(gpu, model, data, std::max<std::size_t>(now.examples, 1));
    std::vector<std::uint32_t> which(now.examples);
    for (std::size_t i = 0; i < which.size(); ++i)
        which[i] = static_cast<std::uint32_t>(i * 7 % data.train.size());
    float const scale = 1.0f / static_cast<float>(std::max<std::size_t>(now.examples, 1));

    DeviceModelResult result{};
    for (int repeat = 0; repeat < 2; ++repeat) {  // the second time with memory that was used
        result.ready.clear();
        result.loss = device.compute_gradient(
            which, scale, [&](std::size_t layer) { result.ready.push_back(layer); });
    }
    result.gradient = device.read_gradient();
    result.expected_gradient.resize(model.parameters().size());
    result.expected_loss = model.add_gradient(data.train, which, result.expected_gradient);
    for (float& value : result.expected_gradient) value *= scale;
    result.expected_ready =
        now.hidden > 0 ? std::vector<std::size_t>{1, 0} : std::vector<std::size_t>{0};
    std::size_t const begin = 3, end = data.test.size();
    result.right = device.count_right(begin, end) + device.count_right(7, 7);
    for (std::size_t i = begin; i < end; ++i)
        result.expected_right += model.predict(data.test[i]) == data.test.labels[i] ? 1 : 0;
    return result;
}

}  // namespace sgd_digits
