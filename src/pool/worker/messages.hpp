// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "src/base/bytes.hpp"
#include "src/pool/protocol.hpp"

namespace sinew::pool {

using Bytes = std::span<std::byte const>;

// Messages of a master, parsed; spans refer to the bytes of the message.
struct FunctionTold {
    FunctionHead head;
    Bytes state;
};
struct TasksTold {
    TasksHead head;
    Bytes arguments;
};
struct RevokeTold {
    std::uint64_t batch;
};
struct StopTaskTold {
    std::uint64_t batch;
};
struct ForgetTold {
    std::uint64_t job;
};
struct ReleaseTold {};
struct FencedTold {};
struct MappedTold {
    MappedHead head;
};
using Told = std::variant<FunctionTold, TasksTold, RevokeTold, StopTaskTold, ForgetTold,
                          ReleaseTold, FencedTold, MappedTold>;

/// Throws DecodeError naming what is wrong.
Told read_told(std::uint8_t kind, Bytes payload);

}  // namespace sinew::pool
