// SPDX-License-Identifier: Apache-2.0
#include "launchers/job/joined_record.hpp"

#include <chrono>

#include "launchers/common/timestamp.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

std::string joined_record(Hello const& hello) {
    auto const now = milliseconds_of(std::chrono::system_clock::now());
    return text("{\"joined\":", hello.node, ",\"began_ms\":", hello.began_ms,
                ",\"accepted_ms\":", hello.accepted_ms, ",\"joined_ms\":", now,
                ",\"dials\":", hello.dials, "}\n");
}

}  // namespace sinew::launch
