// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/manager/protocol.hpp"
#include "src/manager/server/dispatcher.hpp"

namespace sinew::manager {

/// The outcome of a call. Answers are collected and sent together.
struct Answer {
    Client to = 0;
    Op op = Op::value;
    std::uint64_t number = 0;
    std::size_t begin = 0, size = 0;  ///< of its bytes in the collection's writer
    ObjectId later = 0;               ///< the object of a call that is answered later
};

}  // namespace sinew::manager
