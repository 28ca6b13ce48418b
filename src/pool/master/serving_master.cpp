// SPDX-License-Identifier: Apache-2.0
#include "src/pool/master/serving_master.hpp"

#include <sinew/error.hpp>
#include <utility>

namespace sinew::pool {

std::shared_ptr<ServingMaster> ServingMaster::make(std::shared_ptr<nodes::Served> served) {
    return {new ServingMaster(std::move(served)), [](ServingMaster* master) {
                if (!process::Runtime::forked()) delete master;
            }};
}

void ServingMaster::terminate() {
    std::lock_guard const lock(guard());
    served_->agent().leave();
}

void ServingMaster::refuse() {
    throw UsageError(
        "this rank's pool only serves (the tasks of a pool on nodes come from rank 0). Submit them "
        "there, and destroy the pool here to wait for its end");
}

}  // namespace sinew::pool
