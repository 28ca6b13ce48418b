// SPDX-License-Identifier: Apache-2.0
// sinew_state_*: checkpoints.
#include <cstring>
#include <memory>

#include "src/c_api/arguments.hpp"

using namespace sinew;
using namespace sinew::c_api;

namespace {

TrainingState& state_of(sinew_state* state) { return required(state, "the state").state; }

StateOptions state_options(sinew_state_options const* given) {
    if (given == nullptr) return {};
    require_size(given->size, sizeof(sinew_state_options), "SINEW_STATE_OPTIONS_INIT");
    return {.keep = given->keep,
            .copies = given->copies,
            .timeout = std::chrono::nanoseconds(given->timeout_ns)};
}

/// Appends what a function of the program saves.
int append(void* to, void const* bytes, size_t count) {
    return guarded([&] {
        auto& all = *static_cast<TrainingState::Bytes*>(to);
        auto const* const first = static_cast<std::byte const*>(bytes);
        if (count > 0) required(first, "the bytes");
        all.insert(all.end(), first, first + count);
    });
}

void require_success(int code, char const* what, std::string const& name) {
    if (code != 0)
        throw CallbackFailed(text("the function that ", what, " '", name, "' returned ", code),
                             code);
}

}  // namespace

int sinew_state_create(sinew_communicator* comm, char const* folder,
                       sinew_state_options const* options, sinew_state** state) {
    return guarded([&] {
        required(state, "the pointer for the state");
        auto& of = required(comm, "the communicator");
        *state = std::make_unique<sinew_state>(of, &required(folder, "the folder"),
                                               state_options(options))
                     .release();
    });
}

int sinew_state_add_shared(sinew_state* state, char const* name, void* data, size_t count,
                           sinew_type type) {
    return guarded([&] {
        state_of(state).add_shared(&required(name, "the name"), {data, count, data_type(type)});
    });
}

int sinew_state_add_own(sinew_state* state, char const* name, void* data, size_t count,
                        sinew_type type) {
    return guarded([&] {
        state_of(state).add_own(&required(name, "the name"), {data, count, data_type(type)});
    });
}

int sinew_state_add_function(sinew_state* state, char const* name, sinew_save save, sinew_load load,
                             void* context) {
    return guarded([&] {
        std::string const words = &required(name, "the name");
        required(save, "the function that saves");
        required(load, "the function that loads");
        state_of(state).add_own(
            words,
            [save, context, words] {
                TrainingState::Bytes bytes;
                require_success(save(context, append, &bytes), "saves", words);
                return bytes;
            },
            [load, context, words](std::span<std::byte const> bytes) {
                require_success(load(context, bytes.data(), bytes.size()), "loads", words);
            });
    });
}

int sinew_state_commit(sinew_state* state, uint64_t step) {
    return guarded([&] { state_of(state).commit(step); });
}

int sinew_state_restore(sinew_state* state, int* found, uint64_t* step) {
    return guarded([&] {
        required(found, "the pointer for whether there was a commit");
        required(step, "the pointer for the step");
        auto const restored = state_of(state).restore();
        *found = restored ? 1 : 0;
        if (restored) *step = *restored;
    });
}

int sinew_state_sync(sinew_state* state, int root) {
    return guarded([&] { state_of(state).sync(root); });
}

void sinew_state_destroy(sinew_state* state) { delete state; }
