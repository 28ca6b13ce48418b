// SPDX-License-Identifier: Apache-2.0
#include "src/base/retained.hpp"

#include <mutex>
#include <vector>

namespace sinew::detail {

void retain_until_exit(std::shared_ptr<void> object) {
    // The list is never destroyed, so the objects also survive the program's static destructors.
    static auto& mutex = *new std::mutex;
    static auto& retained = *new std::vector<std::shared_ptr<void>>;
    std::lock_guard const lock(mutex);
    retained.push_back(std::move(object));
}

}  // namespace sinew::detail
