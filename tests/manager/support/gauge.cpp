// SPDX-License-Identifier: Apache-2.0
#include "tests/manager/support/gauge.hpp"

#include <unistd.h>

#include <algorithm>

namespace sinew::testing_support {

void Gauge::rise(std::int64_t by) {
    level_ += by;
    std::erase_if(waiting_, [this](auto const& each) {
        return each.first <= level_ && (each.second.answer(level_), true);
    });
}

void Gauge::calls_withdrawn() {
    std::erase_if(waiting_, [](auto const& each) { return !each.second.waiting(); });
}

pid_t Gauge::pid() const { return ::getpid(); }

}  // namespace sinew::testing_support
