// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sinew/error.hpp>
#include <string>

#include "benchmarks/support/text.hpp"

namespace sinew::bench {

/// The message for measuring queues and pipes, as in Fiber's benchmark.
inline constexpr char const* message = "MESSAGE_";

inline void check(std::string const& got) {
    if (got != message) throw Error(text("a message arrived as '", got, "'"));
}

}  // namespace sinew::bench
