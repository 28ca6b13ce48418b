// SPDX-License-Identifier: Apache-2.0
// sinew_device_sgd_*: SGD for parameters in the memory of a GPU.
#include <memory>
#include <variant>
#include <vector>

#include "src/c_api/training_options.hpp"

using namespace sinew;
using namespace sinew::c_api;

namespace {

DeviceSgd& optimizer_of(sinew_device_sgd* optimizer) {
    return *required(optimizer, "the optimiser").optimizer;
}

std::vector<Parameter> parameters_of(sinew_device_parameter const* given, size_t count) {
    if (count > 0) required(given, "the parameters");
    std::vector<Parameter> parameters;
    for (size_t i = 0; i < count; ++i)
        parameters.emplace_back(
            &required(given[i].name, "the name of a parameter"),
            Buffer(given[i].data, given[i].count, data_type(given[i].type)),
            Buffer(given[i].gradient, given[i].count, data_type(given[i].gradient_type)));
    return parameters;
}

Sgd sgd_of(sinew_optimizer_rule const* given) {
    OptimizerRule const rule = optimizer_rule(given);
    if (auto const* const sgd = std::get_if<Sgd>(&rule)) return *sgd;
    throw UsageError("the rule is Adam (expected SINEW_RULE_SGD)");
}

}  // namespace

int sinew_device_sgd_create(sinew_communicator* comm, sinew_device_parameter const* parameters,
                            size_t count, sinew_optimizer_rule const* rule,
                            sinew_gradient_options const* options, sinew_device_sgd** optimizer) {
    return guarded([&] {
        required(optimizer, "the pointer for the optimiser");
        auto& of = required(comm, "the communicator");
        *optimizer = std::make_unique<sinew_device_sgd>(of, parameters_of(parameters, count),
                                                        sgd_of(rule), gradient_options(options))
                         .release();
    });
}

int sinew_device_sgd_ready(sinew_device_sgd* optimizer, size_t tensor) {
    return guarded([&] { optimizer_of(optimizer).ready(tensor); });
}

int sinew_device_sgd_step(sinew_device_sgd* optimizer, sinew_gradient_step* step) {
    return guarded([&] { store_step(optimizer_of(optimizer).step(), step); });
}

int sinew_device_sgd_set_learning_rate(sinew_device_sgd* optimizer, double rate) {
    return guarded([&] { optimizer_of(optimizer).set_learning_rate(rate); });
}

int sinew_device_sgd_average(sinew_device_sgd* optimizer, double* metrics, size_t count) {
    return guarded([&] { average_metrics(optimizer_of(optimizer), metrics, count); });
}

int sinew_device_sgd_join(sinew_device_sgd* optimizer, int* last) {
    return guarded([&] { join_steps(optimizer_of(optimizer), last); });
}

int sinew_device_sgd_add_to(sinew_device_sgd* optimizer, sinew_state* state, char const* name) {
    return guarded(
        [&] { add_to_state(required(optimizer, "the optimiser").optimizer, state, name); });
}

void sinew_device_sgd_destroy(sinew_device_sgd* optimizer) { delete optimizer; }
