// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/process/rpc/process_address.hpp"

namespace sinew::process {

/// 128 random bits. A process that presents them gets the end of the pipe that they stand for,
/// once. Only the handle has them, handles are sent between authenticated processes only, and the
/// socket is in a folder of mode 0700 and serves this user only, so no other proof is needed.
using PipeToken = std::array<std::uint64_t, 2>;

/// An end of a pipe that is being passed on.
struct PipeHandle {
    ProcessAddress keeper;  ///< the process that has it
    std::string server;     ///< the socket there
    PipeToken token{};
    std::uint8_t direction = 0;
    std::vector<std::byte> begun;  ///< of a message that was being received

    template <class Archive>
    void serialize(Archive& archive) {
        archive(keeper, server, token, direction, begun);
    }
};

}  // namespace sinew::process
