// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <sinew/task/initializer.hpp>
#include <string>

#include "src/manager/restart/incarnation.hpp"

namespace sinew::manager {

/// What a manager's process is told at its start.
struct StartMessage {
    std::uint64_t initializer = 0;           ///< a TaskId; 0: none
    std::string arguments;                   ///< of the initializer
    std::string listen;                      ///< address for guests; empty: none
    std::string key;                         ///< for guests
    std::uint64_t guest_memory = 0;          ///< see ManagerOptions
    std::optional<Incarnation> incarnation;  ///< nothing: it is not restarted

    template <class Archive>
    void serialize(Archive& archive) {
        archive(initializer, arguments, listen, key, guest_memory, incarnation);
        if (incarnation) archive(incarnation->key);
    }
};

/// Its answer when it can be called.
struct Ready {
    process::ProcessAddress address;
    std::string guests;  ///< the address for guests

    template <class Archive>
    void serialize(Archive& archive) {
        archive(address, guests);
    }
};

}  // namespace sinew::manager
