// SPDX-License-Identifier: Apache-2.0
#include "src/process/child/spawner.hpp"

#include <exception>
#include <optional>
#include <utility>

#include "src/base/system/work_thread.hpp"

namespace sinew::process {

Spawned spawn_in_lasting_thread(SpawnRequest const& request) {
    static auto* const thread = new WorkThread("that starts processes");
    std::optional<Spawned> spawned;
    std::exception_ptr error;
    thread->perform([&] {
        try {
            spawned = spawn(request);
        } catch (...) {
            error = std::current_exception();
        }
    });
    if (error) std::rethrow_exception(std::move(error));
    return *std::move(spawned);
}

}  // namespace sinew::process
