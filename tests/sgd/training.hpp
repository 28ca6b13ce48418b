// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sinew/sgd/gradient_buckets.hpp>

namespace sinew::tests {

/// Several buckets for the tensors below.
inline GradientOptions const small_buckets{.bucket_bytes = 16 << 10, .first_bucket_bytes = 2 << 10};

/// The gradients of one rank: tensors of random sizes with random elements.
struct Tensors {
    std::vector<std::vector<float>> values;

    /// Sizes depend on `seed` alone, elements also on the rank and the step.
    Tensors(unsigned seed, int rank, int step, std::size_t count = 17, std::size_t largest = 3000) {
        std::mt19937 sizes(seed);
        std::mt19937 random(seed * 1000003u + static_cast<unsigned>(rank) * 1009u +
                            static_cast<unsigned>(step));
        std::normal_distribution<float> normal;
        for (std::size_t i = 0; i < count; ++i) {
            std::size_t const n = i % 5 == 4 ? i % 3 : sizes() % largest;  // some of 0 to 2
            auto& tensor = values.emplace_back(n);
            for (float& value : tensor) value = normal(random);
        }
    }

    std::vector<Gradient> registered() {
        std::vector<Gradient> all;
        for (std::size_t i = 0; i < values.size(); ++i)
            all.emplace_back("tensor" + std::to_string(i), values[i]);
        return all;
    }
};

/// The means over ranks, computed in f64.
inline std::vector<std::vector<double>> means(unsigned seed, int ranks, int step,
                                              std::size_t count = 17, std::size_t largest = 3000) {
    std::vector<std::vector<double>> all;
    for (int rank = 0; rank < ranks; ++rank) {
        Tensors const tensors(seed, rank, step, count, largest);
        all.resize(count);
        for (std::size_t i = 0; i < count; ++i) {
            all[i].resize(tensors.values[i].size());
            for (std::size_t k = 0; k < all[i].size(); ++k)
                all[i][k] += double{tensors.values[i][k]} / ranks;
        }
    }
    return all;
}

/// Calls `ready` for each tensor, in random order, from three threads.
inline void ready_from_threads(GradientBuckets& buckets, unsigned seed) {
    std::vector<std::size_t> order(buckets.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), std::mt19937(seed));
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            for (std::size_t i = t; i < order.size(); i += 3) buckets.ready(order[i]);
        });
    for (std::thread& thread : threads) thread.join();
}

inline void all_ready(GradientBuckets& buckets) {
    for (std::size_t i = buckets.size(); i-- > 0;) buckets.ready(i);
}

/// The largest |a - b|.
template <class A, class B>
double largest_difference(std::vector<std::vector<A>> const& a,
                          std::vector<std::vector<B>> const& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t k = 0; k < a[i].size(); ++k)
            largest = std::max(largest, std::abs(double{a[i][k]} - double{b[i][k]}));
    return largest;
}

}  // namespace sinew::tests
