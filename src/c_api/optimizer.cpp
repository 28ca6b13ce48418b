// SPDX-License-Identifier: Apache-2.0
// sinew_optimizer_*: optimisers whose state is divided among the ranks.
#include <memory>
#include <vector>

#include "src/c_api/training_options.hpp"

using namespace sinew;
using namespace sinew::c_api;

namespace {

ShardedOptimizer& optimizer_of(sinew_optimizer* optimizer) {
    return *required(optimizer, "the optimiser").optimizer;
}

std::vector<Parameter> parameters_of(sinew_parameter const* given, size_t count) {
    if (count > 0) required(given, "the parameters");
    std::vector<Parameter> parameters;
    for (size_t i = 0; i < count; ++i) {
        DataType const type = data_type(given[i].type);
        parameters.emplace_back(&required(given[i].name, "the name of a parameter"),
                                Buffer(given[i].data, given[i].count, type),
                                Buffer(given[i].gradient, given[i].count, type));
    }
    return parameters;
}

}  // namespace

int sinew_optimizer_create(sinew_communicator* comm, sinew_parameter const* parameters,
                           size_t count, sinew_optimizer_rule const* rule,
                           sinew_gradient_options const* options, sinew_optimizer** optimizer) {
    return guarded([&] {
        required(optimizer, "the pointer for the optimiser");
        auto& of = required(comm, "the communicator");
        *optimizer =
            std::make_unique<sinew_optimizer>(of, parameters_of(parameters, count),
                                              optimizer_rule(rule), gradient_options(options))
                .release();
    });
}

int sinew_optimizer_ready(sinew_optimizer* optimizer, size_t tensor) {
    return guarded([&] { optimizer_of(optimizer).ready(tensor); });
}

int sinew_optimizer_step(sinew_optimizer* optimizer, sinew_gradient_step* step) {
    return guarded([&] { store_step(optimizer_of(optimizer).step(), step); });
}

int sinew_optimizer_set_learning_rate(sinew_optimizer* optimizer, double rate) {
    return guarded([&] { optimizer_of(optimizer).set_learning_rate(rate); });
}

int sinew_optimizer_broadcast_parameters(sinew_optimizer* optimizer, int root) {
    return guarded([&] { optimizer_of(optimizer).broadcast_parameters(root); });
}

int sinew_optimizer_average(sinew_optimizer* optimizer, double* metrics, size_t count) {
    return guarded([&] { average_metrics(optimizer_of(optimizer), metrics, count); });
}

int sinew_optimizer_join(sinew_optimizer* optimizer, int* last) {
    return guarded([&] { join_steps(optimizer_of(optimizer), last); });
}

size_t sinew_optimizer_state_elements(sinew_optimizer const* optimizer) {
    return optimizer != nullptr ? optimizer->optimizer->state_elements() : 0;
}

int sinew_optimizer_add_to(sinew_optimizer* optimizer, sinew_state* state, char const* name) {
    return guarded(
        [&] { add_to_state(required(optimizer, "the optimiser").optimizer, state, name); });
}

void sinew_optimizer_destroy(sinew_optimizer* optimizer) { delete optimizer; }
