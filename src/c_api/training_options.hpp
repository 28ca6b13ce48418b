// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/c_api/arguments.hpp"

namespace sinew::c_api {

/// The default options if `given` is null.
GradientOptions gradient_options(sinew_gradient_options const* given);
std::vector<Gradient> gradients_of(sinew_gradient const* given, size_t count);
std::vector<Buffer> buffers_of(sinew_gradient const* given, size_t count);
OptimizerRule optimizer_rule(sinew_optimizer_rule const* given);

inline void store_step(GradientStep const& done, sinew_gradient_step* step) {
    if (step != nullptr) *step = {done.norm, done.active_ranks, 0};
}

/// The calls that buckets and optimisers have in common.
template <class Steps>
void average_metrics(Steps& of, double* metrics, size_t count) {
    if (count > 0) required(metrics, "the metrics");
    of.average({metrics, count});
}

template <class Steps>
void join_steps(Steps& of, int* last) {
    required(last, "the pointer for the rank");
    *last = of.join();
}

/// Adds what an object keeps to commits of a state, which then has the object, too.
template <class Kept>
void add_to_state(std::shared_ptr<Kept> const& kept, sinew_state* state, char const* name) {
    auto& to = required(state, "the state");
    to.added.reserve(to.added.size() + 1);
    kept->add_to(to.state, &required(name, "the name"));
    to.added.push_back(kept);
}

}  // namespace sinew::c_api
