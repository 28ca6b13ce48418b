// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/sgd/sharded_optimizer.hpp>

#include "src/sgd/gradient_state.hpp"
#include "src/sgd/shard_update.hpp"

namespace sinew {

/// Buckets whose sums each rank gets in part, and this rank's part of the optimiser's state.
class ShardedOptimizer::State : private sgd::ShardUpdate {
public:
    State(Communicator& comm, std::vector<Parameter> parameters, OptimizerRule rule,
          GradientOptions options);

    GradientBuckets::State& buckets() { return buckets_; }
    GradientBuckets::State const& buckets() const { return buckets_; }
    void set_learning_rate(double rate);
    std::vector<Buffer> elements() const;
    std::size_t state_elements() const;
    std::vector<std::byte> save();
    void restore(std::span<std::byte const> state);

private:
    /// What is kept of a bucket; all vectors are as long as this rank's part of it.
    struct Kept {
        std::vector<std::vector<float>> states;
        std::vector<float> masters;  ///< empty if the parameters are gathered in f32
    };
    /// The part of a tensor that is in this rank's part of a bucket.
    struct Piece {
        std::size_t tensor;
        std::size_t first;  ///< in the tensor
        std::size_t place;  ///< in this rank's part of the bucket
        std::size_t count;
    };
    struct Header {
        std::uint64_t step, floats;
        double learning_rate;
    };

    void check() const;
    void begin_step() override { ++step_; }
    void update(std::size_t bucket, double scale) override;
    void store(std::size_t bucket) override;

    std::vector<Gradient> gradients() const;
    std::vector<Piece> pieces(std::size_t bucket) const;
    void load_parameters(Piece const& piece, std::span<float> values, bool are_masters) const;
    /// That of the rule; null if it has none.
    double* learning_rate();
    /// Calls `visit` with each vector that is kept, in an order that is always the same.
    template <class Visit>
    void for_each_kept(Visit const& visit);

    std::vector<Parameter> parameters_;
    OptimizerRule rule_;
    GradientBuckets::State buckets_;
    std::uint64_t step_ = 0;
    std::vector<Kept> kept_;                ///< by bucket
    std::vector<float> parameters_in_f32_;  ///< of the bucket that is being updated
};

}  // namespace sinew
