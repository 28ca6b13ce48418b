// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <sinew/sgd/local_sgd.hpp>

#include "src/sgd/gradient_state.hpp"

namespace sinew {

/// Changes of parameters travel as the gradients of buckets do, from memory that lies in the buckets.
class LocalSgd::State {
public:
    State(Communicator& comm, std::vector<LocalParameter> parameters, LocalSgdOptions options);

    bool step();
    void synchronise();
    std::size_t steps() const { return static_cast<std::size_t>(counts_[0]); }
    void add_to(TrainingState& training, std::string const& name);

private:
    /// What is kept of a tensor, in f32 or f64.
    template <class Float>
    struct Kept {
        std::vector<Float> anchor;
        std::vector<Float> momentum;  ///< empty without momentum
    };

    using KeptTensor = std::variant<Kept<float>, Kept<double>>;

    void check() const;
    std::vector<Gradient> changes() const;
    std::uint64_t options_hash() const;
    void start();
    template <class Float>
    void compute_change(std::size_t tensor, Kept<Float> const& kept);
    template <class Float>
    void move_anchor(std::size_t tensor, Kept<Float>& kept);
    /// Calls `visit` with the index of each tensor and what is kept of it.
    template <class Visit>
    void for_each_tensor(Visit const& visit);

    std::vector<LocalParameter> parameters_;
    LocalSgdOptions options_;
    GradientBuckets::State buckets_;
    std::vector<KeptTensor> kept_;
    std::vector<std::uint64_t> counts_ = {0, 0};  ///< steps so far, steps since the last average
};

}  // namespace sinew
