// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <sinew/task/codec.hpp>
#include <sinew/task/initializer.hpp>
#include <string>
#include <vector>

#include "src/manager/restart/incarnation.hpp"

namespace sinew::manager {

/// What a manager's process is told when it begins.
struct StartMessage {
    std::uint64_t initializer = 0;    ///< a TaskId; 0: there is none
    std::string arguments;            ///< its
    std::string listen;               ///< where guests come; empty: none do
    std::string key;                  ///< theirs
    std::uint64_t guest_memory = 0;   ///< see ManagerOptions
    std::optional<Incarnation> line;  ///< nothing: it is not started anew when it dies

    std::vector<std::byte> encode() const;
    static StartMessage decode(std::span<std::byte const> bytes);
};

/// What it answers when it can be called.
struct Ready {
    process::ProcessAddress address;
    std::string guests;  ///< where they find it

    void encode_to(Writer& writer) const;
    static Ready decode_from(Reader& reader);
};

}  // namespace sinew::manager
