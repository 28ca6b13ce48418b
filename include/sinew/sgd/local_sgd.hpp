// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <sinew/comm/buffer.hpp>
#include <sinew/communicator.hpp>
#include <sinew/sgd/gradient_buckets.hpp>
#include <sinew/sgd/training_state.hpp>

namespace sinew {

/// One tensor that LocalSgd averages: its name (for errors) and its elements (f16, bf16, f32 or f64),
/// which belong to the caller and must outlive the LocalSgd.
struct LocalParameter {
    std::string name;
    Buffer elements;

    LocalParameter(std::string name_, Buffer elements_)
        : name(std::move(name_)), elements(elements_) {}
};

/// Options of LocalSgd. They must be equal on all ranks.
struct LocalSgdOptions {
    /// Parameters are averaged in every `period`-th step; 1: in each.
    std::size_t period = 16;
    /// Steps at the beginning in which they are averaged each time (post-local SGD, Lin et al. 2020).
    std::size_t warm_up = 0;
    /// Momentum of the averages, from 0 to below 1; 0: plain averages.
    double outer_momentum = 0;
    /// What the change of the average is multiplied by; 1 and no momentum: plain averages.
    double outer_learning_rate = 1;
    /// Nesterov's momentum, as in DiLoCo; otherwise heavy-ball momentum, as in SlowMo.
    bool nesterov = false;
    /// How changes of parameters travel: bucket sizes, wire format and error feedback, `check_finite`,
    /// `clip_norm` (of the averaged change), algorithm and timeout. `op` must be average.
    GradientOptions buckets = {};
};

/// Averages parameters every few steps instead of gradients in each: ranks train alone in between, each
/// with the optimiser that it likes, and communicate `period` times less.
///
/// A rank's change since the last average is d = anchor - parameters. All ranks get the mean D of the
/// changes, and go on from the next anchor. Without momentum it is anchor - D, the mean of the
/// parameters (local SGD: Stich 2019; McMahan et al. 2017). With outer learning rate a and momentum b
/// it is anchor - a V, V = b V + D (SlowMo: Wang et al. 2020), or anchor - a (D + b V) with `nesterov`
/// (DiLoCo: Douillard et al. 2023, a = 0.7 and b = 0.9). The states of the ranks' own optimisers are
/// not averaged.
///
/// After an average all ranks have the same bits. Memory: the anchor, the change, and with momentum V,
/// each as large as the parameters (in f32, or f64 for tensors of f64).
///
/// `step` is collective when it averages, so all ranks must make the same number of steps. Errors are those of GradientBuckets; after UsageError and NonFiniteGradient (a rank's
/// parameters have NaN) parameters are as they were, and restoring a commit may follow.
class LocalSgd {
public:
    /// Copies rank 0's parameters to all ranks and takes them as the first anchor. Collective. Throws
    /// UsageError on all ranks if tensors or options are wrong on one, or differ.
    LocalSgd(Communicator& comm, std::vector<LocalParameter> parameters,
             LocalSgdOptions options = {});
    LocalSgd(LocalSgd&&) noexcept;
    LocalSgd& operator=(LocalSgd&&) noexcept;
    ~LocalSgd();

    /// Called after each step of the rank's own optimiser. Averages if it is time, and returns whether
    /// it has.
    bool step();
    /// Averages now, for example after the last step. The period begins anew. Collective.
    void synchronise();
    /// Steps so far.
    std::size_t steps() const noexcept;

    /// Adds what this object keeps between steps to commits: anchor, momentum and number of steps as
    /// shared elements, and residuals of error feedback as the rank's own, under names that begin with
    /// `name`. This object must outlive `training`. Commits should follow an average, because parameters
    /// differ between ranks otherwise; the program adds the parameters.
    void add_to(TrainingState& training, std::string const& name = "local_sgd");

private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace sinew
