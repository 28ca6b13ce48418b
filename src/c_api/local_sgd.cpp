// SPDX-License-Identifier: Apache-2.0
// sinew_local_sgd_*: parameters averaged every few steps.
#include <memory>
#include <vector>

#include "src/c_api/training_options.hpp"

using namespace sinew;
using namespace sinew::c_api;

namespace {

LocalSgd& local_of(sinew_local_sgd* local) { return *required(local, "the local SGD").local; }

std::vector<LocalParameter> local_parameters(sinew_gradient const* given, size_t count) {
    auto const buffers = buffers_of(given, count);
    std::vector<LocalParameter> parameters;
    for (size_t i = 0; i < count; ++i)
        parameters.emplace_back(&required(given[i].name, "the name of a parameter"), buffers[i]);
    return parameters;
}

LocalSgdOptions local_options(sinew_local_sgd_options const* given) {
    if (given == nullptr) return {};
    require_size(given->size, sizeof(sinew_local_sgd_options), "SINEW_LOCAL_SGD_OPTIONS_INIT");
    return {.period = given->period,
            .warm_up = given->warm_up,
            .outer_momentum = given->outer_momentum,
            .outer_learning_rate = given->outer_learning_rate,
            .nesterov = given->nesterov != 0,
            .buckets = gradient_options(given->buckets)};
}

}  // namespace

int sinew_local_sgd_create(sinew_communicator* comm, sinew_gradient const* parameters, size_t count,
                           sinew_local_sgd_options const* options, sinew_local_sgd** local) {
    return guarded([&] {
        required(local, "the pointer for the local SGD");
        auto& of = required(comm, "the communicator");
        *local = std::make_unique<sinew_local_sgd>(of, local_parameters(parameters, count),
                                                   local_options(options))
                     .release();
    });
}

int sinew_local_sgd_step(sinew_local_sgd* local, int* averaged) {
    return guarded([&] {
        bool const done = local_of(local).step();
        if (averaged != nullptr) *averaged = done ? 1 : 0;
    });
}

int sinew_local_sgd_synchronise(sinew_local_sgd* local) {
    return guarded([&] { local_of(local).synchronise(); });
}

size_t sinew_local_sgd_steps(sinew_local_sgd const* local) {
    return local != nullptr ? local->local->steps() : 0;
}

int sinew_local_sgd_add_to(sinew_local_sgd* local, sinew_state* state, char const* name) {
    return guarded([&] { add_to_state(required(local, "the local SGD").local, state, name); });
}

void sinew_local_sgd_destroy(sinew_local_sgd* local) { delete local; }
