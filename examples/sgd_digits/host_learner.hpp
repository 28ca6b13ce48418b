// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <sinew/communicator.hpp>
#include <sinew/sgd/gradient_buckets.hpp>
#include <sinew/sgd/local_sgd.hpp>
#include <sinew/sgd/sharded_optimizer.hpp>

#include "examples/sgd_digits/data.hpp"
#include "examples/sgd_digits/learner.hpp"
#include "examples/sgd_digits/model.hpp"
#include "examples/sgd_digits/options.hpp"

namespace sgd_digits {

/// Trains a Model in host memory, on the processor.
class HostLearner final : public Learner {
public:
    /// Collective. The arguments must outlive this object.
    HostLearner(sinew::Communicator& comm, Dataset const& data, Options const& options);

    double train_batch(std::span<std::uint32_t const> batch) override;
    void end_epoch() override;
    std::size_t count_right(std::size_t begin, std::size_t end) override;
    std::vector<float> parameters() const override;
    void add_to(sinew::TrainingState& state) override;
    std::string tuning() const override;

private:
    std::vector<sinew::Gradient> gradients();
    std::vector<sinew::Parameter> sharded_parameters();
    std::vector<sinew::LocalParameter> local_parameters();
    std::span<float> gradient_of(Model::Tensor const& tensor);
    std::span<float> elements_of(Model::Tensor const& tensor);
    sinew::LocalSgdOptions local_options() const;
    void descend(float scale);

    sinew::Communicator& comm_;
    Dataset const& data_;
    Options const& options_;
    Model model_;
    std::vector<float> gradient_;
    std::vector<float> velocity_;
    // One of these three.
    std::optional<sinew::GradientBuckets> buckets_;
    std::optional<sinew::ShardedOptimizer> sharded_;
    std::optional<sinew::LocalSgd> local_;
};

}  // namespace sgd_digits
