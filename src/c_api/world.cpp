// SPDX-License-Identifier: Apache-2.0
// sinew_world_*: joining and leaving the job.
#include <memory>
#include <string>

#include "src/c_api/guard.hpp"
#include "src/c_api/handles.hpp"
#include "src/comm/communicator_state.hpp"

using namespace sinew;
using namespace sinew::c_api;

int sinew_world_create(int argc, char** argv, sinew_world** world) {
    return guarded([&] {
        required(world, "the pointer for the world");
        *world = std::make_unique<sinew_world>(argc, argv).release();
    });
}

int sinew_world_destroy(sinew_world* world) {
    return guarded([&] {
        if (world == nullptr) return;
        if (int const left = world->dependants->load(); left > 0)
            throw UsageError(text("rank ", world->world.rank(), " of ", world->world.size(), ": ",
                                  left,
                                  " communicators or requests of this world "
                                  "still exist. Destroy them before the world"));
        delete world;
    });
}

int sinew_world_abandon(sinew_world* world, char const* reason) {
    return guarded([&] {
        World& left = required(world, "the world").world;
        left.communicator().state().abandon(
            text("rank ", left.rank(), " of ", left.size(),
                 " left the world: ", reason != nullptr ? reason : "no reason given"));
    });
}

sinew_communicator* sinew_world_communicator(sinew_world* world) {
    return world != nullptr ? &world->communicator : nullptr;
}

char const* sinew_world_bootstrap(sinew_world const* world) {
    return world != nullptr ? world->bootstrap.c_str() : "";
}
