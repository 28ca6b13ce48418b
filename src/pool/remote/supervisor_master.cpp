// SPDX-License-Identifier: Apache-2.0
#include "src/pool/remote/supervisor_master.hpp"

#include <sinew/error.hpp>
#include <utility>

namespace sinew::pool {

std::shared_ptr<SupervisorMaster> SupervisorMaster::make(std::shared_ptr<Supervisor> supervisor) {
    return {new SupervisorMaster(std::move(supervisor)), [](SupervisorMaster* master) {
                if (!process::Runtime::forked()) delete master;
            }};
}

// Not with the guard: who lets go of it last may hold that.
SupervisorMaster::~SupervisorMaster() {
    supervisor_->runtime().loop().post([supervisor = supervisor_] { supervisor->leave(); });
}

void SupervisorMaster::terminate() {
    std::lock_guard const lock(guard());
    supervisor_->leave();
}

void SupervisorMaster::refuse() {
    throw UsageError(
        "this rank's pool only serves (the tasks of a pool over a communicator come from rank 0). "
        "Submit them there, and destroy the pool here to wait for its end");
}

}  // namespace sinew::pool
