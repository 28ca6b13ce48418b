// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <sinew/task/codec.hpp>
#include <sinew/task/initializer.hpp>
#include <string>
#include <vector>

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

    std::vector<std::byte> encode() const;
    static StartMessage decode(std::span<std::byte const> bytes);
};

/// Its answer when it can be called.
struct Ready {
    process::ProcessAddress address;
    std::string guests;  ///< the address for guests

    void encode_to(Writer& writer) const;
    static Ready decode_from(Reader& reader);
};

}  // namespace sinew::manager
